// The page and the server that the state needs, for its tests: what the server answers, and what it tells, is up to the test.
export const asked: string[] = [];
let answerOf: (path: string) => unknown = () => ({});
let stream: ReadableStreamDefaultController<Uint8Array> | undefined;

// answering has every question answered by a function; an answer may be a promise, or a Response.
export function answering(answer: (path: string) => unknown): void {
  answerOf = answer;
  asked.length = 0;
}

// tell has the server say that listings have changed, in two pieces: the network cuts where it likes.
export function tell(...changed: string[]): void {
  const text = `: still here\n\nevent: changed\ndata: ${JSON.stringify({ changed })}\n\n`;
  for (const piece of [text.slice(0, 40), text.slice(40)]) stream!.enqueue(new TextEncoder().encode(piece));
}

// end ends the stream, as the server does now and then.
export const end = (): void => stream!.close();

const seen = new EventTarget();
const page = { baseURI: 'http://reroll.test/', hidden: false, addEventListener: seen.addEventListener.bind(seen) };

// hide has the page go out of sight, or come back.
export function hide(hidden: boolean): void {
  page.hidden = hidden;
  seen.dispatchEvent(new Event('visibilitychange'));
}

// until waits for what is true soon.
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    if (tries === 1_000) throw new Error(`it has not become true: ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

// problem is an answer that is an error.
export const problem = (status: number): Response => new Response('{}', { status });

async function fetched(url: string, init: RequestInit): Promise<Response> {
  const path = url.replace('http://reroll.test/api/v1/', '');
  if (path.startsWith('events')) {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) });
    tell('changes', 'reloads', 'workloads', 'clusters');
    return new Response(body, { status: 200 });
  }
  asked.push(path);
  const answer = await answerOf(path);
  if (init.signal?.aborted) throw init.signal.reason;
  return answer instanceof Response ? answer.clone() : new Response(JSON.stringify(answer), { status: 200 });
}

// Timers that wait for long keep no test from ending.
function brief(timers: 'setTimeout' | 'setInterval'): void {
  const own = globalThis[timers] as unknown as (run: () => void, ms: number) => { unref(): void };
  Object.assign(globalThis, {
    [timers]: (run: () => void, ms: number) => {
      const timer = own(run, ms);
      if (timers === 'setInterval' || ms > 2_000) timer.unref();
      return timer;
    },
  });
}

brief('setTimeout');
brief('setInterval');
Object.assign(globalThis, { document: page, location: { hash: '' }, addEventListener: () => undefined, fetch: fetched });
