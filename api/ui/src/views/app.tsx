import { useEffect, useState } from 'preact/hooks';
import { views } from '../lib/views';
import { useKeys } from '../parts/keys';
import { Icon } from '../parts/glyph';
import { LinkState, LostBanner } from '../parts/linkstate';
import { Boundary } from '../parts/boundary';
import { NavCount } from '../parts/navcount';
import { Overlay } from '../parts/overlay';
import { ScopeNote } from '../parts/scope';
import { Blank } from '../parts/states';
import { TokenForm } from '../parts/tokenform';
import { SignedIn } from '../parts/user';
import { needsToken } from '../state/client';
import { ask as askAgain } from '../state/fleet';
import { href, placeOf, route } from '../state/router';
import { theme, turnTheme } from '../state/theme';
import { said } from '../state/announcer';
import { Charts } from './charts';
import { Clusters } from './clusters';
import { Held } from './held';
import { ImpactPage } from './impact';
import { Timeline } from './timeline';
import { WorkloadPage } from './workload';
import { Workloads } from './workloads';

// App is the frame around all views.
export function App() {
  const [help, setHelp] = useState(false);
  useKeys(() => setHelp((shown) => !shown));
  const here = route.value.path[0] ?? '';
  useEffect(() => {
    const name = views.find((v) => v.path === here)?.name ?? 'Not found';
    document.querySelector('.bar [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    document.title = `${route.value.path[4] ?? name} · Reroll`;
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
                <kbd aria-hidden="true">g {v.key}</kbd>
              </a>
            </li>
          ))}
        </ul>
        <div class="foot">
          <SignedIn />
          <LinkState />
          <button class="plain" onClick={turnTheme} aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`}>
            <Icon name={theme.value} />
          </button>
          <button class="plain" onClick={() => setHelp(true)} aria-label="Keys and settings" title="Keys and settings">
            <b aria-hidden="true">?</b>
          </button>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        <LostBanner />
        <ScopeNote />
        {needsToken.value && <TokenForm />}
        <Boundary key={route.value.path.join('/')} again={askAgain}>
          <View path={route.value.path} />
        </Boundary>
      </main>
      <p class="hidden" role="status" aria-live="polite">
        {said.value}
      </p>
      {help && <Overlay close={() => setHelp(false)} />}
    </>
  );
}

// skip keeps the address: what stands behind # is the view.
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function View({ path }: { path: string[] }) {
  const place = placeOf(path);
  switch (path[0] ?? '') {
    case '':
      return <Timeline />;
    case 'workloads':
      return place ? <WorkloadPage key={path.join('/')} place={place} /> : <Workloads />;
    case 'impact':
      return <ImpactPage key={path.join('/')} place={place} />;
    case 'held':
      return <Held />;
    case 'clusters':
      return <Clusters />;
    case 'charts':
      return <Charts />;
  }
  return (
    <Blank title="There is no such view">
      <a href={href([])}>Go to the timeline</a>
    </Blank>
  );
}
