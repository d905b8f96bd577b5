import type { Config } from '../lib/types';
import { showsCluster } from '../state/fleet';
import { impactHref } from '../state/router';
import { Kind } from './kind';

// ConfigLink names the config's cluster if it is another than that of what it is shown beside; alone says that it is shown beside nothing.
export function ConfigLink({ cluster, config, alone }: { cluster: string; config: Config; alone?: boolean }) {
  const whose = config.cluster ?? (alone && showsCluster(cluster) ? cluster : undefined);
  return (
    <a class="ref" href={impactHref(config.cluster ?? cluster, config)}>
      <Kind kind={config.kind} />
      {whose && <span class="ns">{whose}/</span>}
      <span class="ns">{config.namespace}/</span>
      {config.name}
    </a>
  );
}
