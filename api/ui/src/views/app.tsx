import { useEffect } from 'preact/hooks';
import { attentionOf, remarksOf } from '../lib/attention';
import { clockTime, count, personName } from '../lib/format';
import { Boundary } from '../parts/boundary';
import { ScopeNote } from '../parts/filters';
import { Glyph, Icon, type IconName } from '../parts/glyph';
import { Blank } from '../parts/states';
import { TokenForm } from '../parts/tokenform';
import { needsToken } from '../state/api';
import { clusters, self, unsettled } from '../state/fleet';
import { link, lostSince } from '../state/live';
import { now, theme, turnTheme } from '../state/page';
import { amend, href, placeOf, route } from '../state/router';
import { AttentionPage } from './attention';
import { Charts } from './charts';
import { ClusterPage, Clusters } from './clusters';
import { ImpactPage } from './impact';
import { Timeline } from './timeline';
import { WorkloadPage } from './workload';
import { Workloads } from './workloads';

const views: { path: string; name: string; icon: IconName }[] = [
  { path: '', name: 'Timeline', icon: 'timeline' },
  { path: 'attention', name: 'Attention', icon: 'attention' },
  { path: 'workloads', name: 'Workloads', icon: 'workloads' },
  { path: 'impact', name: 'Impact', icon: 'impact' },
  { path: 'clusters', name: 'Clusters', icon: 'clusters' },
  { path: 'charts', name: 'Charts', icon: 'charts' },
];

// App is the frame around all views.
export function App() {
  const { path } = route.value;
  const here = path[0] ?? '';
  useEffect(() => {
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  useEffect(() => {
    document.querySelector('.bar [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    document.title = `${path[path.length - 1] && path.length > 1 ? path[path.length - 1] : (views.find((v) => v.path === here)?.name ?? 'Not found')} · Reroll`;
  }, [route.value]);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <nav class="bar" aria-label="Views">
        <a class="brand" href={href([])}>
          <img src="assets/icon.svg" alt="" width="22" height="22" /> <span>Reroll</span>
        </a>
        <ul>
          {views.map((v) => (
            <li key={v.path}>
              <a href={href(v.path ? [v.path] : [])} aria-current={v.path === here ? 'page' : undefined}>
                <Icon name={v.icon} />
                <span>{v.name}</span>
                <NavCount path={v.path} />
              </a>
            </li>
          ))}
        </ul>
        <div class="foot">
          <SignedIn />
          <span class={`link ${link.value}`} data-link={link.value}>
            <i aria-hidden="true" /> {links[link.value]}
          </span>
          <a class="docs" href="docs">
            API
          </a>
          <button class="plain" onClick={turnTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`}>
            <Icon name={theme.value} />
          </button>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {link.value === 'lost' && (
          <p class="banner" role="status">
            <b>The server cannot be reached.</b> What is shown is as of {clockTime(new Date(lostSince.value).toISOString())}; this page goes on by itself.
          </p>
        )}
        <ScopeNote />
        {needsToken.value && <TokenForm />}
        <Boundary key={path.join('/')}>
          <View path={path} />
        </Boundary>
      </main>
    </>
  );
}

const links = { connecting: 'Connecting', live: 'Live', lost: 'Disconnected', shut: 'Every 30 s' };

// skip keeps the address: what stands behind # is the view.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

// pressed goes to the search field at /, and closes what is open at Esc.
function pressed(event: KeyboardEvent): void {
  const field = event.target instanceof HTMLElement && event.target.closest('input, select, textarea');
  if (event.key === 'Escape') {
    if (field) (field as HTMLElement).blur();
    else if (route.value.query.has('open')) amend({ open: '', of: '' });
  }
  if (event.key !== '/' || field || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById('search');
  if (!search) return;
  event.preventDefault();
  search.focus();
}

function View({ path }: { path: string[] }) {
  const place = placeOf(path);
  switch (path[0] ?? '') {
    case '':
      return <Timeline />;
    case 'attention':
      return <AttentionPage />;
    case 'workloads':
      return place ? <WorkloadPage place={place} /> : <Workloads />;
    case 'impact':
      return <ImpactPage place={place} />;
    case 'clusters':
      return path[1] ? <ClusterPage name={path[1]} /> : <Clusters />;
    case 'charts':
      return <Charts />;
  }
  return (
    <Blank title="There is no such view">
      <a href={href([])}>Go to the timeline</a>
    </Blank>
  );
}

// NavCount says beside a view how much in it needs attention.
function NavCount({ path }: { path: string }) {
  const found = attentionOf(clusters.value.data?.items, unsettled.value.data?.items);
  const counts: Record<string, [number, string]> = {
    attention: [found.workloads.length, count(found.workloads.length, 'workload needs attention', 'workloads need attention')],
    clusters: [found.clusters.length, count(found.clusters.length, 'cluster is not healthy', 'clusters are not healthy')],
  };
  const [n, label] = counts[path] ?? [0, ''];
  if (n === 0) return null;
  return (
    <span class="count bad" title={label}>
      <span aria-hidden="true">{n.toLocaleString('en')}</span>
      <span class="hidden">, {label}</span>
    </span>
  );
}

function SignedIn() {
  const user = self.value.data?.user;
  if (!user) return null;
  return (
    <p class="user" title={`Signed in as ${user}`}>
      <span class="hidden">Signed in as </span>
      {personName(user)}
    </p>
  );
}

// Strip says in one line how the fleet is, and leads to where more is told.
export function Strip() {
  const remarks = remarksOf(clusters.value.data?.items, unsettled.value.data?.items, now.value);
  if (remarks.length === 0) return null;
  return (
    <ul class="overview" aria-label="Overview">
      {remarks.map((r) => (
        <li key={r.text}>
          <a class={r.tone} href={href([r.path])}>
            {r.tone !== 'calm' && <Glyph tone={r.tone} />} {r.text}
          </a>
        </li>
      ))}
    </ul>
  );
}
