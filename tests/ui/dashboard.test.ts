import { readFile } from 'node:fs/promises';
import { type Page, expect } from '@playwright/test';
import { open, pages, test } from './pages';

const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

// accessible runs the rules of WCAG 2.2 A and AA over the page.
async function accessible(page: Page): Promise<void> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    return violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`);
  });
  expect(found).toEqual([]);
}

const rows = (page: Page) => page.locator('a[data-row]');

for (const view of pages) {
  test(`${view.name} opens by its address and fits the window`, async ({ page }) => {
    await open(page, view);
    await expect(page.getByRole('heading', { level: 1 })).toContainText(view.heading);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme });
    for (const view of pages) {
      test(`${view.name} is accessible`, async ({ page }) => {
        await open(page, view);
        await accessible(page);
      });
    }
    test('a change is accessible', async ({ page }) => {
      await open(page, pages[0]!);
      await rows(page).first().click();
      await expect(page.locator('.panel .stages')).toBeVisible();
      await accessible(page);
    });
  });
}

test('the timeline lists changes and opens one, which has an address', async ({ page }) => {
  await open(page, pages[0]!);
  const row = rows(page).filter({ hasText: 'shop/feature-flags' }).first();
  await expect(row).toContainText('alice');
  await row.click();
  const panel = page.locator('.panel');
  await expect(panel).toContainText('feature-flags');
  await expect(panel).toContainText('alice');
  await page.reload();
  await expect(panel).toContainText('alice');
});

test('a filter stays after the page is loaded again', async ({ page }) => {
  await open(page, { ...pages[0]!, path: '/#/?namespace=shop' });
  const shown = async () => {
    const names = await page.locator('a[data-row] .what .ns').allInnerTexts();
    return names.length > 0 && names.every((n) => n === 'shop/');
  };
  await expect.poll(shown).toBe(true);
  await page.keyboard.press('/');
  await page.keyboard.type('alice');
  await expect(page).toHaveURL(/q=alice/);
  await page.reload();
  await expect(rows(page).first()).toBeVisible();
  await expect(page).toHaveURL(/q=alice/);
  await expect.poll(shown).toBe(true);
  await expect(rows(page).filter({ hasNotText: 'alice' })).toHaveCount(0);
});

test('/ goes to the search field and Esc closes what is open', async ({ page }) => {
  await open(page, pages[0]!);
  await page.keyboard.press('/');
  await expect(page.locator('input[type=search]')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.locator('input[type=search]')).not.toBeFocused();
  await rows(page).first().click();
  await expect(page.locator('.panel')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.locator('.panel')).toBeHidden();
});

test('the strip, the navigation and the page say the same of what needs attention', async ({ page }) => {
  const answer = await page.request.get('/api/v1/workloads?unsettled=true&limit=500');
  const all: { verdict: { needsAttention?: boolean } }[] = (await answer.json()).items;
  const n = all.filter((w) => w.verdict.needsAttention).length;
  expect(n).toBeGreaterThan(1);
  await open(page, pages[0]!);
  await expect(page.locator('.overview')).toContainText(`${n} workloads need attention`);
  await page.locator('.bar a', { hasText: `Attention` }).getByText(String(n), { exact: true }).click();
  await expect(page.locator('section', { hasText: 'Needs attention' }).locator('.card.bad')).toHaveCount(n);
  await expect(page.locator('section', { hasText: 'Waiting' }).locator('.card')).toHaveCount(all.length - n);
});

test('a reload without a restart says how many pods were asked, and which failed', async ({ page }) => {
  const pods = '3 pods asked · 2 answered · 1 failed: wishlist-2';
  await open(page, { path: '/#/workloads/prod-us/shop/Deployment/wishlist', has: '.history .badge' });
  const entry = page.locator('.history > li').first();
  await expect(entry).toContainText(pods);
  await entry.getByRole('link').first().click();
  await expect(page.locator('.panel .outcomes li', { hasText: 'wishlist' })).toContainText(pods);
});

test('a command is copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, pages.find((p) => p.name === 'not opted in')!);
  await page.locator('.verdict').getByRole('button', { name: 'Copy' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('kubectl -n shop annotate deployment/newcomer reroll.dev/auto=true');
});

// A fleet of a thousand clusters, a few of which are not well.
test('a thousand clusters are listed with the worst first, and found', async ({ page }) => {
  const [one] = (await (await page.request.get('/api/v1/clusters?health=Healthy&limit=1')).json()).items;
  const items = Array.from({ length: 1000 }, (_, i) => ({ ...one, name: `edge-${i}`, freeze: undefined, ...(i % 333 === 7 && { health: 'Away', problems: [{ message: 'No status for 5 min.' }] }) }));
  await page.route('**/api/v1/clusters?*', (route) => route.fulfill({ json: { items, warnings: [] } }));
  await open(page, pages.find((p) => p.name === 'clusters')!);
  await expect(page.locator('.sum')).toHaveText('1,000 clusters');
  await expect(rows(page).first()).toContainText('edge-7');
  await expect(rows(page).nth(3)).toContainText('Healthy');
  await page.keyboard.press('/');
  await page.keyboard.type('edge-999');
  await expect(rows(page)).toHaveCount(1);
});

test('what changes is shown without anybody asking', async ({ page }) => {
  let extra = false;
  await page.route('**/api/v1/workloads?*', async (route) => {
    const answer = await (await route.fetch()).json();
    if (extra) answer.items = answer.items.slice(0, 1);
    await route.fulfill({ json: answer });
  });
  await page.route('**/api/v1/events*', async (route) => {
    if (extra) await new Promise((done) => setTimeout(done, 500));
    await route.fulfill({ headers: { 'Content-Type': 'text/event-stream' }, body: 'event: changed\ndata: {"changed":["workloads"]}\n\n' });
  });
  await open(page, pages.find((p) => p.name === 'workloads')!);
  expect(await rows(page).count()).toBeGreaterThan(1);
  extra = true;
  await expect(rows(page)).toHaveCount(1);
});

test('the theme that is chosen stays', async ({ page }) => {
  await open(page, pages[0]!);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await expect.poll(background).not.toBe(light);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Theme: dark' })).toBeVisible();
  expect(await background()).not.toBe(light);
});

// What the server answers to everything, and what the timeline and the list of workloads say then.
const states = [
  { name: 'nothing', status: 200, timeline: 'Nothing has changed yet', workloads: 'No workload is opted in' },
  { name: 'refusal', status: 403, timeline: 'You may not see what has changed', workloads: 'You may not see workloads' },
  { name: 'failure', status: 500, timeline: 'The server answered 500', workloads: 'The server answered 500' },
];

test.describe('without data', () => {
  test.use({ failing: true });
  for (const state of states) {
    test(`${state.name} is said`, async ({ page }) => {
      await page.route('**/api/v1/**', (route) => route.fulfill({ status: state.status, json: { status: state.status, items: [], warnings: [] } }));
      for (const view of ['timeline', 'workloads'] as const) {
        await open(page, { path: pages.find((p) => p.name === view)!.path, has: '.blank h2' });
        await expect(page.locator('.blank h2')).toHaveText(state[view]);
        await accessible(page);
      }
    });
  }

  test('a token is asked for, and kept in memory alone', async ({ page }) => {
    await page.route('**/api/v1/**', (route) => (route.request().headers()['authorization'] === 'Bearer right' ? route.continue() : route.fulfill({ status: 401, json: { status: 401 } })));
    await open(page, { path: '/#/', has: '#token' });
    for (const token of ['wrong', 'right']) {
      await expect(page.locator('#token')).toHaveValue('');
      await page.locator('#token').fill(token);
      await page.keyboard.press('Enter');
      if (token === 'wrong') await expect(page.getByRole('alert')).toContainText('did not accept');
    }
    await expect(rows(page).first()).toBeVisible();
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length)).toBe(0);
    await page.reload();
    await expect(page.locator('#token')).toBeVisible();
  });

  // Under the name reroll.test the browser finds this machine, and takes it for another one.
  test('no token is asked for that would cross the network in clear', async ({ page, baseURL }) => {
    await page.route('**/api/v1/**', (route) => route.fulfill({ status: 401, json: { status: 401 } }));
    await open(page, { path: `${baseURL!.replace('127.0.0.1', 'reroll.test')}/`, has: '.wait[role=alert]' });
    await expect(page.locator('.wait[role=alert]')).toContainText('https');
    await expect(page.locator('#token')).toBeHidden();
    await accessible(page);
  });
});
