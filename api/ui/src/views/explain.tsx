import { verbOf } from '../lib/format';
import { refText } from '../lib/format';
import type { Explanation } from '../lib/types';
import { Badge } from '../parts/badge';
import { Command } from '../parts/command';
import { ConfigLink } from '../parts/configlink';
import { Time } from '../parts/time';
import { Who } from '../parts/who';
import { changeHref } from '../state/router';

// Explain says for each config of a workload how the workload stands to it, and what last became of the config.
export function Explain({ cluster, items }: { cluster: string; items: Explanation[] }) {
  return (
    <section>
      <h2>Why</h2>
      {items.length === 0 && <p class="faint">It asks for no config.</p>}
      <ul class="cards">
        {items.map((x) => (
          <li key={`${x.config.cluster ?? ''}/${refText(x.config)}`} class={`card ${x.needsAttention ? 'bad' : x.waits ? 'wait' : ''}`}>
            <div class="line">
              <ConfigLink cluster={cluster} config={x.config} /> <Badge reason={x.state === 'Held' && x.reason ? x.reason : x.state} />
            </div>
            <p>{x.message}</p>
            {x.change && (
              <p class="faint">
                <a href={changeHref(x.change.id)}>{verbOf(x.change)}</a> <Time at={x.change.verifiedAt} /> <Who change={x.change} />
              </p>
            )}
            {x.next && (
              <p>
                Next: <Command text={x.next} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
