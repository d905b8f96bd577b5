import { wordsOf } from './outcome';
import type { Candidate, Config, KeyChange, WorkloadRef } from './types';

const units: [number, string][] = [
  [86400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

// relative tells a time as its distance from now, for a glance; exact tells it all.
export function relative(iso: string, now: number): string {
  const seconds = Math.round((now - Date.parse(iso)) / 1000);
  if (Number.isNaN(seconds)) return '–';
  const distance = Math.abs(seconds);
  if (distance < 5) return 'now';
  const text = larger(distance);
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

// ageOf tells how long ago a time is, or nothing of a moment ago.
export const ageOf = (iso: string, now: number): string => larger(Math.max(0, Math.round((now - Date.parse(iso)) / 1000)));

function larger(seconds: number): string {
  for (const [size, name] of units) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  }
  return `${seconds} s`;
}

const full = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
});
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const short = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

export const exact = (iso: string): string => format(full, iso);
export const clockTime = (iso: string): string => format(clock, iso);
export const shortTime = (at: number): string => short.format(at);
export const shortDay = (at: number): string => day.format(at);

function format(f: Intl.DateTimeFormat, iso: string): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? '–' : f.format(at);
}

// duration tells seconds with as many digits as help.
export function duration(seconds: number): string {
  if (seconds < 0.0005) return '0 ms';
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.5) return `${seconds.toFixed(seconds < 9.95 ? 1 : 0)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

export interface Who {
  // name is empty if nobody is known.
  name: string;
  // note says what kind of name it is, or how sure that is.
  note: string;
}

// who says who made a change. With several candidates no single one is asserted.
export function who(change: { candidates?: Candidate[]; source: string }): Who {
  const candidates = change.candidates ?? [];
  const names = [...new Set(candidates.map((c) => personName(c.user ?? '')))].filter((n) => n !== '');
  if (names.length === 0) return { name: '', note: unseen[change.source] ?? `found by ${change.source}` };
  if (names.length > 1) return { name: `one of ${names.join(', ')}`, note: 'nothing tells them apart' };
  const candidate = candidates[0];
  return { name: names[0] ?? '', note: candidate ? client(candidate) : '' };
}

const unseen: Record<string, string> = {
  sweep: 'found by the resync',
  watch: 'seen by the watch, which names nobody',
  baseline: 'first sight',
};

const account = 'system:serviceaccount:';

// personName shortens the name of a service account to namespace/name.
export function personName(user: string): string {
  return user.startsWith(account) ? user.slice(account.length).replace(':', '/') : user;
}

// client names the program of a request: what it calls itself up to the version.
function client(c: Candidate): string {
  const program = (c.userAgent ?? c.fieldManager ?? '').split(/[\s/]/)[0] ?? '';
  const kind = c.user?.startsWith(account) ? 'service account' : '';
  return [kind, program && `with ${program}`].filter(Boolean).join(' ') || c.verb;
}

const signs: Record<string, string> = { Added: '+', Changed: '~', Removed: '−' };

// keysText lists keys with what happened to them: +added ~changed −removed. What a newer server says of a key has no sign.
export function keysText(keys: KeyChange[] = [], most = 4): string {
  const shown = keys.slice(0, most).map((k) => (signs[k.op] ?? '') + k.key);
  return keys.length > most ? `${shown.join(' ')} and ${keys.length - most} more` : shown.join(' ');
}

const verbs: Record<string, string> = { Baseline: 'first seen', Updated: 'changed', Created: 'created', Deleted: 'deleted' };

// verbOf says what happened to a config.
export function verbOf(change: { type: string }): string {
  return verbs[change.type] ?? wordsOf(change.type).toLowerCase();
}

export const refText = (ref: Config | WorkloadRef): string => `${ref.kind} ${ref.namespace}/${ref.name}`;

// segments makes a path of names, whatever is in them.
export const segments = (...names: string[]): string => names.map(encodeURIComponent).join('/');
