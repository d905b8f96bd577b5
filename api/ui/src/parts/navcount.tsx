import { count } from '../lib/format';
import { attentionOf, illOf } from '../lib/overview';
import { clusters, held } from '../state/fleet';

// NavCount stands beside a view in the navigation where something in it waits for somebody: how much is held, how many clusters are not well.
export function NavCount({ path }: { path: string }) {
  if (path === 'held') {
    const items = held.value.data?.items ?? [];
    return <Count n={items.length} bad={attentionOf(items).length > 0} label={`${count(items.length, 'workload waits or needs', 'workloads wait or need')} attention`} />;
  }
  if (path === 'clusters') {
    const n = illOf(clusters.value.data?.items ?? []).length;
    return <Count n={n} bad sign="! " label={`${count(n, 'cluster needs', 'clusters need')} attention`} />;
  }
  return null;
}

function Count({ n, bad, sign = '', label }: { n: number; bad: boolean; sign?: string; label: string }) {
  if (n === 0) return null;
  return (
    <span class={bad ? 'count bad' : 'count'} title={label}>
      <span aria-hidden="true">
        {sign}
        {n.toLocaleString('en')}
      </span>
      <span class="hidden">, {label}</span>
    </span>
  );
}
