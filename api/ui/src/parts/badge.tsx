import { toneOf, wordsOf } from '../lib/outcome';
import type { Reason } from '../lib/types';
import { Glyph } from './glyph';

// Badge is an outcome: shape, word and colour say the same.
export function Badge({ reason, count, label }: { reason: Reason; count?: number; label?: string }) {
  const tone = toneOf(reason);
  return (
    <span class={`badge ${tone}`}>
      <Glyph tone={tone} />
      {count !== undefined && count > 1 ? `${count} ` : ''}
      {label ?? wordsOf(reason)}
    </span>
  );
}
