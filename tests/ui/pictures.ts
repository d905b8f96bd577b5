import { open, pages, test } from './pages';

// The pictures in docs/images, light and dark. make screenshots takes them.
for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(colorScheme, () => {
    test.use({ colorScheme, viewport: { width: 1440, height: 900 } });
    for (const name of ['timeline', 'workload', 'impact']) {
      test(name, async ({ page }) => {
        await open(
          page,
          pages.find((p) => p.name === name)!,
        );
        if (name === 'timeline') await page.locator('a[data-row]').first().click();
        await page.evaluate(() => document.fonts.ready);
        await page.screenshot({ path: `../../docs/images/${name}-${colorScheme}.png`, animations: 'disabled' });
      });
    }
  });
}
