import { signal } from '@preact/signals';
import type { List } from '../lib/types';

// Fault is why a question was not answered. detail is what the server says about it.
export type Fault =
  | { kind: 'unreachable' }
  | { kind: 'unknown'; detail: string } // 404: of a path that this server does not have, or of a record that it does not
  | { kind: 'unauthenticated' }
  | { kind: 'forbidden'; detail: string }
  | { kind: 'refused'; status: number; detail: string };

// passes tells whether a fault may go away by itself: the server is away, has no answer now, or has been asked too much.
export const passes = (fault: Fault): boolean => fault.kind === 'unreachable' || (fault.kind === 'refused' && (fault.status === 429 || fault.status >= 500));

export class AskError extends Error {
  constructor(readonly fault: Fault) {
    super(fault.kind);
  }
}

// session is a new object for each token that is given: the same one given again is tried again. It is kept in memory alone.
export const session = signal<{ token: string }>({ token: '' });
// needsToken is set when the server has asked who this is.
export const needsToken = signal(false);

const base = new URL('api/v1/', new URL('.', document.baseURI)).href;
// longest bounds how long one answer may take, in milliseconds.
const longest = 30_000;

// request asks the API and returns its answer, or throws an AskError.
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const used = session.value;
  if (used.token) headers.set('Authorization', `Bearer ${used.token}`);
  let answer: Response;
  try {
    answer = await fetch(base + path, { ...init, headers, cache: 'no-store', redirect: 'error' });
  } catch {
    throw new AskError({ kind: 'unreachable' });
  }
  if (answer.ok) return answer;
  // What an older session was answered says nothing about this one.
  if (answer.status === 401 && used === session.value) needsToken.value = true;
  throw new AskError(await faultOf(answer));
}

async function faultOf(answer: Response): Promise<Fault> {
  const { detail = '' } = (await answer.json().catch(() => ({}))) as { detail?: string };
  switch (answer.status) {
    case 401:
      return { kind: 'unauthenticated' };
    case 403:
      return { kind: 'forbidden', detail };
    case 404:
      return { kind: 'unknown', detail };
    case 502:
    case 504:
      return { kind: 'unreachable' };
  }
  return { kind: 'refused', status: answer.status, detail: detail || answer.statusText };
}

// ask reads one JSON answer, to a question that has a body if one is given.
export async function ask<T>(path: string, abort: AbortSignal, body?: unknown): Promise<T> {
  const posted = body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await request(path, { signal: AbortSignal.any([abort, AbortSignal.timeout(longest)]), ...posted });
  return (await answer.json()) as T;
}

export function query(parameters: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') q.set(name, String(value));
  }
  return q.size === 0 ? '' : `?${q}`;
}

// Listing is what was read of a listing, and whether that is all.
export interface Listing<T> {
  items: T[];
  warnings: string[];
  complete: boolean;
}

const pageSize = 500;

// askAll reads a listing page by page, up to most items. Its warnings are those of every page.
export async function askAll<T>(path: string, parameters: Record<string, string | undefined>, most: number, abort: AbortSignal): Promise<Listing<T>> {
  const items: T[] = [];
  const warnings = new Set<string>();
  let next: string | undefined;
  do {
    const page: List<T> = await ask<List<T>>(path + query({ ...parameters, limit: Math.min(pageSize, most), continue: next }), abort);
    items.push(...page.items);
    page.warnings.forEach((w) => warnings.add(w));
    next = page.continue;
  } while (next && items.length < most);
  return { items, warnings: [...warnings], complete: !next };
}
