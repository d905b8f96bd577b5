// Drives one Chromium: reads commands from standard input, one JSON object a line, and answers each with one line.
//
//   {"do": "…", …}  →  {"value": …} or {"error": "…"}
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath: process.argv[2], args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--host-resolver-rules=MAP reroll.test 127.0.0.1'] });
const timeout = 60_000;

let page;
let faults = [];
let session;

// While the server is meant to be away or to fail, the browser's own words about that are no fault.
let away = false;

// hurry changes the page's clocks.
function hurry({ interval, patience }) {
  const { setInterval: every } = globalThis;
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  if (interval) globalThis.setInterval = (f, ms) => every(f, ms < 30_000 ? ms : interval);
  if (patience) AbortSignal.timeout = () => timeout(patience);
}

const commands = {
  // open starts a new page with nothing remembered. What it does every half minute or less often it does every so many milliseconds
  // instead, if interval says so, and what it waits for it waits for up to patience milliseconds. Its clock stands still at now, if that is
  // set; timers run. scale is the number of pixels in the picture for one of the page.
  async open({ url, theme, width, height, scale, failing, interval, patience, now }) {
    await page?.context().close();
    faults = [];
    away = failing === true;
    session = undefined;
    const context = await browser.newContext({ colorScheme: theme, viewport: { width, height }, deviceScaleFactor: scale || 1, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-GB' });
    page = await context.newPage();
    page.setDefaultTimeout(timeout);
    const origin = new URL(url).origin;
    page.on('pageerror', (e) => faults.push(`exception: ${e.message}`));
    page.on('console', (m) => {
      if (m.type() === 'error' && !(away && /Failed to load resource|net::ERR/.test(m.text()))) faults.push(`console: ${m.text()}`);
    });
    page.on('request', (r) => new URL(r.url()).origin === origin || faults.push(`request to another origin: ${r.url()}`));
    await page.addInitScript(() => {
      globalThis.violations = [];
      addEventListener('securitypolicyviolation', (e) => globalThis.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
    });
    await page.addInitScript(hurry, { interval, patience });
    if (now) await page.clock.setFixedTime(now);
    await page.goto(url);
  },
  goto: ({ url }) => page.goto(url),
  reload: () => page.reload(),
  wait: ({ selector, state, seconds }) => page.locator(selector).first().waitFor({ state: state || 'visible', timeout: seconds ? seconds * 1000 : timeout }),
  text: ({ selector }) => page.locator(selector).first().innerText(),
  click: ({ selector }) => page.locator(selector).first().click(),
  hover: ({ selector }) => page.locator(selector).first().hover(),
  fill: ({ selector, text }) => page.locator(selector).first().fill(text),
  select: ({ selector, text }) => page.locator(selector).first().selectOption(text),
  press: ({ key }) => page.keyboard.press(key),
  evaluate: ({ script }) => page.evaluate(script),
  // until evaluates again and again: what waits inside the page is under its policy, which forbids evaluating text.
  async until({ script, seconds }) {
    const end = Date.now() + (seconds ? seconds * 1000 : timeout);
    while (!(await page.evaluate(script))) {
      if (Date.now() > end) throw new Error('it has not become true');
      await new Promise((done) => setTimeout(done, 40));
    }
  },
  // cpu is how long the page's main thread has been at work so far, in seconds of its own time: what others do does not count.
  async cpu() {
    if (!session) {
      session = await page.context().newCDPSession(page);
      await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    }
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((m) => m.name === 'TaskDuration').value;
  },
  // settled takes a picture once the page is drawn in its fonts, and does not change any more.
  async settled({ file }) {
    await page.evaluate(() => document.fonts.ready.then(() => undefined));
    for (let i = 0, before; i < 50; i++) {
      const picture = await page.screenshot();
      if (before?.equals(picture)) return writeFile(file, picture);
      before = picture;
      await new Promise((done) => setTimeout(done, 400));
    }
    throw new Error('the page goes on changing');
  },
  shot: ({ file }) => page.screenshot({ path: file }).then(() => undefined),
  away({ is }) {
    away = is;
  },
  async axe() {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    return violations.map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')}: ${n.failureSummary}`).join(' | ')}`);
  },
  async faults() {
    const violations = await page.evaluate(() => globalThis.violations);
    return [...faults, ...violations.map((v) => `CSP violation: ${v}`)];
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...parameters } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await commands[name](parameters)) ?? null };
  } catch (error) {
    answer = { error: `${name} ${JSON.stringify(parameters).slice(0, 300)}: ${error.message}` };
  }
  if (answer.value && typeof answer.value === 'object' && !Array.isArray(answer.value)) answer.value = null;
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
