import { clockTime, exact, relative } from '../lib/format';
import { now } from '../state/clock';
import { exactTimes } from '../state/settings';

// RowTime is a Time inside a row that is a link: it turns exact while the row is pointed at or focused.
export function RowTime({ at }: { at: string | undefined }) {
  if (!at) return <span class="rowtime">–</span>;
  return (
    <time class={exactTimes.value ? 'rowtime exact' : 'rowtime'} dateTime={at} title={exact(at)}>
      <span class="rel">{relative(at, now.value)}</span>
      <span class="abs">{clockTime(at)}</span>
    </time>
  );
}
