import { devices } from '@playwright/test';
import { open, pages, test } from './pages';

// The pictures in docs/images, light and dark. make screenshots takes them.
const desk = { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.5 };
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };

for (const colorScheme of ['light', 'dark'] as const) {
  for (const name of ['timeline', 'workload', 'held', 'clusters', 'impact', 'phone']) {
    test.describe(`${name}, ${colorScheme}`, () => {
      test.use({ ...devices['Desktop Chrome'], ...(name === 'phone' ? phone : desk), colorScheme });
      test('picture', async ({ page }) => {
        await open(page, pages.find((p) => p.name === name) ?? pages[0]!);
        if (name === 'timeline') await page.locator('a[data-row]').first().click();
        await page.evaluate(() => document.fonts.ready);
        await page.screenshot({ path: `../../docs/images/${name}-${colorScheme}.png`, animations: 'disabled' });
      });
    });
  }
}
