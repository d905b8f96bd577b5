import { type Page, test as base, expect } from '@playwright/test';

// pages are the views of the dashboard, each with its heading and with what it shows once it has its data.
export const pages = [
  { name: 'timeline', path: '/#/', heading: 'Timeline', has: '[data-row] .badge' },
  { name: 'workloads', path: '/#/workloads', heading: 'Workloads', has: '[data-row] .badge' },
  { name: 'workload', path: '/#/workloads/prod-eu/shop/Deployment/mailer', heading: 'mailer', has: '.cards li' },
  { name: 'impact', path: '/#/impact', heading: 'Impact', has: '.canvas .node' },
  { name: 'config', path: '/#/impact/prod-us/shop/ConfigMap/feature-flags', heading: 'feature-flags', has: '.canvas .node.focus' },
  { name: 'attention', path: '/#/attention', heading: 'Attention', has: '.card.bad' },
  { name: 'clusters', path: '/#/clusters', heading: 'Clusters', has: '[data-row] .badge' },
  { name: 'cluster', path: '/#/clusters/prod-us', heading: 'prod-us', has: '.numbers' },
  { name: 'not opted in', path: '/#/workloads/prod-eu/shop/Deployment/newcomer', heading: 'newcomer', has: '.verdict .command' },
  { name: 'charts', path: '/#/charts', heading: 'Charts', has: '.chart .fill' },
];

// open opens a page anew, and waits for its data.
export async function open(page: Page, { path, has }: { path: string; has: string }): Promise<void> {
  await page.goto('about:blank');
  await page.goto(path);
  await expect(page.locator(has).first()).toBeVisible();
}

// test fails for a page that has an exception, logs an error, breaks its own content security policy, or asks another server. Where the server is
// made to fail, the browser's own words about that are no error of the page.
export const test = base.extend<{ failing: boolean; page: Page }>({
  failing: [false, { option: true }],
  page: async ({ page, failing, baseURL }, use) => {
    const faults: string[] = [];
    page.on('pageerror', (e) => faults.push(`exception: ${e.message}`));
    page.on('console', (m) => {
      const missing = m.location().url.endsWith('/newcomer'); // which is not opted in
      if (m.type() === 'error' && !((failing || missing) && m.text().startsWith('Failed to load resource'))) faults.push(`console: ${m.text()}`);
    });
    page.on('request', (r) => {
      if (![`${baseURL}/`, 'http://reroll.test:', 'data:'].some((own) => r.url().startsWith(own))) faults.push(`request to another server: ${r.url()}`);
    });
    await use(page);
    expect(faults).toEqual([]);
  },
});
