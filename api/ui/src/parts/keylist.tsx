import { keysText } from '../lib/format';
import type { KeyChange } from '../lib/types';

// KeyList lists keys with what happened to them.
export function KeyList({ keys = [] }: { keys: KeyChange[] | undefined }) {
  if (keys.length === 0) return <span class="faint">keys not known</span>;
  return (
    <span class="keys mono" title={keys.map((k) => `${k.key} ${k.op.toLowerCase()}`).join(', ')}>
      {keysText(keys)}
    </span>
  );
}
