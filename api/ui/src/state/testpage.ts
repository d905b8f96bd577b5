// The page and the server that the state needs, for its tests: what the server answers, and which events it tells, is up to the test.
type Answer = (path: string) => unknown;

export const asked: string[] = [];
let answerOf: Answer = () => ({});
let stream: ReadableStreamDefaultController<Uint8Array> | undefined;

// answering has every question answered by a function; an answer may be a promise, or a Response.
export function answering(answer: Answer): void {
  answerOf = answer;
  asked.length = 0;
}

// tell sends an event on the stream that is open.
export function tell(type: string, data: unknown): void {
  stream!.enqueue(new TextEncoder().encode(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`));
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

const questionOf = (url: string): string => url.replace('http://reroll.test/api/v1/', '');

async function fetched(url: string, init: RequestInit): Promise<Response> {
  const path = questionOf(url);
  if (path.startsWith('events')) {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) });
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
Object.assign(globalThis, {
  document: { baseURI: 'http://reroll.test/', hidden: false },
  location: { hash: '' },
  addEventListener: () => undefined,
  fetch: fetched,
});
