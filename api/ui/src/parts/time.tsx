import { exact, relative } from '../lib/format';
import { now } from '../state/clock';
import { exactTimes } from '../state/settings';

// Time is a distance from now; the exact time shows on hover, or always if that is set.
export function Time({ at }: { at: string | undefined }) {
  if (!at) return <span class="faint">never</span>;
  return (
    <time class="tip" dateTime={at} data-tip={exact(at)}>
      {exactTimes.value ? exact(at) : relative(at, now.value)}
      {!exactTimes.value && <span class="hidden">, {exact(at)}</span>}
    </time>
  );
}
