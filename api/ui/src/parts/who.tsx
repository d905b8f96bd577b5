import { who as whoOf } from '../lib/format';
import type { Candidate } from '../lib/types';

// Who names who made a change, and says how sure that is.
export function Who({ change }: { change: { candidates?: Candidate[]; source: string } }) {
  const { name, note } = whoOf(change);
  return (
    <>
      <b class={name ? '' : 'nobody'}>{name || 'Unknown'}</b>
      <small>{note}</small>
    </>
  );
}
