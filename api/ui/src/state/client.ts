import { signal } from '@preact/signals';
import type { Fault } from '../lib/fault';
import { pause } from '../lib/pause';
import type { Listing } from '../lib/listing';
import type { List } from '../lib/types';

export class AskError extends Error {
  constructor(
    readonly fault: Fault,
    readonly retryAfter = 0,
  ) {
    super(fault.kind);
  }
}

// Session is who looks. Its token is kept in memory alone: it is gone when the page is.
export interface Session {
  token: string;
}

// session is a new object for each token that is given: the same one given again is tried again.
export const session = signal<Session>({ token: '' });
// needsToken is set when the server has asked who this is.
export const needsToken = signal(false);

const base = new URL('api/v1/', new URL('.', document.baseURI)).href;

// request asks the API and returns its answer, or throws an AskError.
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const used = session.value;
  if (used.token) headers.set('Authorization', `Bearer ${used.token}`);
  let answer: Response;
  try {
    answer = await fetch(base + path, { ...init, headers, cache: 'no-store', redirect: 'error' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new AskError({ kind: 'unreachable' });
  }
  if (answer.ok) return answer;
  // What an older session was answered says nothing about this one.
  if (answer.status === 401 && used === session.value) needsToken.value = true;
  throw new AskError(await faultOf(answer), Number(answer.headers.get('Retry-After')) || 0);
}

async function faultOf(answer: Response): Promise<Fault> {
  switch (answer.status) {
    case 401:
      return { kind: 'unauthenticated' };
    case 410:
      return { kind: 'expired' };
    case 502:
    case 504:
      return { kind: 'unreachable' };
  }
  const { detail = '' }: { detail?: string } = await answer.json().catch(() => ({}));
  switch (answer.status) {
    case 403:
      return { kind: 'forbidden', detail };
    case 404:
      return { kind: 'unknown', detail };
  }
  return { kind: 'refused', status: answer.status, detail: detail || answer.statusText };
}

const patience = 5;
// longest bounds how long one answer may take, in milliseconds.
export const longest = 30_000;

let line = new AbortController();

// hangUp gives up every answer that is on its way, over a connection that may have broken unnoticed. It is asked for again at once.
export function hangUp(): void {
  const old = line;
  line = new AbortController();
  old.abort();
}

// ask reads one JSON answer, to a question that has a body if one is given. A server that is still reading, or has had too many questions, says
// when to ask again.
export async function ask<T>(path: string, abort?: AbortSignal, body?: unknown): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const cut = line.signal;
    try {
      return await askOnce<T>(path, [cut, AbortSignal.timeout(longest), ...(abort ? [abort] : [])], body);
    } catch (error) {
      if (abort?.aborted) throw error;
      const after = error instanceof AskError ? error.retryAfter : 0;
      if (attempt === patience || (after === 0 && !cut.aborted)) throw error;
      await pause(after * 1000, abort);
    }
  }
}

async function askOnce<T>(path: string, ends: AbortSignal[], body: unknown): Promise<T> {
  const posted = body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await request(path, { signal: AbortSignal.any(ends), ...posted });
  return (await answer.json()) as T;
}

export function query(parameters: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') q.set(name, String(value));
  }
  return q.size === 0 ? '' : `?${q}`;
}

const pageSize = 500;

// askAll reads a listing page by page, up to most items. Its warnings are those of every page, and that there is more.
export async function askAll<T>(path: string, parameters: Record<string, string | undefined>, most: number, abort?: AbortSignal): Promise<Listing<T>> {
  const items: T[] = [];
  const warnings = new Set<string>();
  let next: string | undefined;
  do {
    const page: List<T> = await ask<List<T>>(path + query({ ...parameters, limit: pageSize, continue: next }), abort);
    items.push(...page.items);
    page.warnings.forEach((w) => warnings.add(w));
    next = page.metadata.continue;
  } while (next && items.length < most);
  const more = next ? [`There are more than these ${items.length.toLocaleString('en')}; the API has them all.`] : [];
  return { items, warnings: [...more, ...warnings], complete: !next };
}
