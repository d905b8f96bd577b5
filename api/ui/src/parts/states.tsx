import type { ComponentChildren } from 'preact';
import { type Fault, passes } from '../state/api';
import type { Resource } from '../state/resource';
import { scope } from '../state/router';
import { ScopeForm } from './filters';

// Blank is what stands where data would: what is the case, and what to do about it.
export function Blank({ title, children, tone = 'calm', below }: { title: string; children?: ComponentChildren; tone?: 'calm' | 'bad' | 'good'; below?: ComponentChildren }) {
  return (
    <div class={`blank ${tone}`}>
      <svg viewBox="0 0 64 40" width="96" height="60" aria-hidden="true">
        <path d="M6 10h30M6 20h44M6 30h22" />
        {tone === 'calm' ? <circle class="sign" cx="55" cy="10" r="4.5" /> : <path class="sign" d={tone === 'bad' ? 'M50 4l10 10M60 4L50 14' : 'M48 10l5 5 9-11'} />}
      </svg>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {below}
    </div>
  );
}

// Empty is a Blank that says that there is nothing: in the one namespace that is shown, if that is so.
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  const within = scope.value && `In namespace ${scope.value} ${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  return <Blank title={within || title}>{children}</Blank>;
}

// Bones are shown while the first answer is on its way.
export function Bones({ rows = 8 }: { rows?: number }) {
  return (
    <div class="bones" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} class={`bone w${i % 4}`} />
      ))}
    </div>
  );
}

// FaultBlank tells why there is no answer. scoped says that the question can be asked about one namespace alone.
export function FaultBlank({ fault, what, scoped }: { fault: Fault; what: string; scoped?: boolean | undefined }) {
  switch (fault.kind) {
    case 'unreachable':
      return (
        <Blank title="The server cannot be reached" tone="bad">
          This page asks again by itself, and shows {what} once it is back.
        </Blank>
      );
    case 'unknown':
      return <Blank title={`This server knows nothing of ${what}`}>{fault.detail || 'It is of a version that has no answer to this, or there is no such thing on record.'}</Blank>;
    case 'unauthenticated':
      return <Blank title="Sign in to continue">This server answers authenticated requests only. Enter a token in the form above.</Blank>;
    case 'forbidden':
      return (
        <Blank title={`You may not see ${what}`} tone="bad" below={scoped && <ScopeForm />}>
          {fault.detail || 'Whoever looks after the cluster can grant it.'}
        </Blank>
      );
    case 'refused':
      return (
        <Blank title={`The server answered ${fault.status}`} tone="bad">
          {fault.detail}
        </Blank>
      );
  }
}

interface AnswerProps<T> {
  of: Resource<T>;
  what: string;
  scoped?: boolean;
  // unknown shows what is not on record, with what the server says of it.
  unknown?: (detail: string) => ComponentChildren;
  children: (data: T) => ComponentChildren;
}

// Answer shows what a resource has, or why it has nothing yet.
export function Answer<T>({ of: { data, fault }, what, scoped, unknown, children }: AnswerProps<T>) {
  if (fault?.kind === 'unknown' && unknown) return <>{unknown(fault.detail)}</>;
  if (data === undefined) return fault ? <FaultBlank fault={fault} what={what} scoped={scoped} /> : <Bones />;
  return (
    <>
      <Warnings list={oldText(fault)} />
      {children(data)}
    </>
  );
}

// oldText says that what is shown is not of now. While the server is away the whole page says so.
export const oldText = (fault: Fault | undefined): string[] =>
  fault?.kind === 'refused' ? [`The server answered ${fault.status}: what is shown is older. ${passes(fault) ? 'This page asks again by itself.' : 'Reload the page to ask again.'}`] : [];

const most = 2;

// Warnings say what may be missing from what is shown.
export function Warnings({ list }: { list: string[] }) {
  if (list.length === 0) return null;
  return (
    <div class="warnings" role="status">
      {list.slice(0, most).map((w) => (
        <p key={w}>{w}</p>
      ))}
      {list.length > most && <p>And {list.length - most} more like that.</p>}
    </div>
  );
}
