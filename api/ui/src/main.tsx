import { render } from 'preact';
import { App } from './views/app';
import * as fleet from './state/fleet';
import * as live from './state/live';

live.start();
fleet.start();
render(<App />, document.getElementById('app')!);
