import { overviewOf } from '../lib/overview';
import { now } from '../state/clock';
import { clusters, held } from '../state/fleet';
import { href } from '../state/router';

// Overview says in one line how the fleet is, and leads to where more is told.
export function Overview() {
  const remarks = overviewOf(clusters.value.data?.items, held.value.data?.items, now.value);
  if (remarks.length === 0) return null;
  return (
    <ul class="overview" aria-label="Overview">
      {remarks.map((r) => (
        <li key={r.text}>
          <a class={r.bad ? 'bad' : ''} href={href([r.path])}>
            {r.text}
          </a>
        </li>
      ))}
    </ul>
  );
}
