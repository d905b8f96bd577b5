import { goOnWith, retryOf } from '../lib/orders';
import type { Config, Hold, WorkloadRef } from '../lib/types';
import { OrderButton } from '../parts/order';
import { may, mayGoOn } from '../state/permissions';

interface Props {
  cluster: string;
  workload: WorkloadRef;
  hold: Hold;
  // configs are those whose changes the workload waits for.
  configs: Config[];
}

// RetryActions lets somebody try again what was given up: the roll of a workload, or the changes whose rollouts were halted.
export function RetryActions({ cluster, workload, hold, configs }: Props) {
  if (hold.reason === 'Halted') {
    const theirs = configs.filter((c) => mayGoOn(c.namespace));
    if (theirs.length === 0) return null;
    return (
      <div class="line">
        {theirs.map((c) => (
          <OrderButton key={c.kind + c.namespace + c.name} order={goOnWith(cluster, c)} small />
        ))}
      </div>
    );
  }
  return (hold.deadLetter || hold.attempts) && may('retry', workload.namespace) ? <OrderButton order={retryOf(cluster, workload)} small /> : null;
}
