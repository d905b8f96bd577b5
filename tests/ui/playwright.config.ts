import { defineConfig, devices } from '@playwright/test';

const url = 'http://127.0.0.1:18088';

// The dashboard over the made-up fleet, in the Chromium of this machine. Nothing changes in the fleet while the tests run.
export default defineConfig({
  testDir: '.',
  fullyParallel: true,
  forbidOnly: true,
  timeout: 120_000,
  expect: { timeout: 60_000 },
  reporter: 'list',
  webServer: { command: `go run ./tests/ui/preview -address ${new URL(url).host} -every 0`, cwd: '../..', url, timeout: 900_000 },
  use: {
    ...devices['Desktop Chrome'],
    baseURL: url,
    viewport: { width: 1280, height: 800 },
    timezoneId: 'UTC',
    locale: 'en-GB',
    contextOptions: { reducedMotion: 'reduce' },
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--host-resolver-rules=MAP reroll.test 127.0.0.1'],
    },
  },
  projects: [
    { name: 'tests', testMatch: '*.test.ts' },
    { name: 'pictures', testMatch: 'pictures.ts' },
  ],
});
