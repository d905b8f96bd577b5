import { render } from 'preact';
import { App } from './views/app';
import * as live from './state/live';
import * as may from './state/may';
import * as reasons from './state/reasons';
import * as timeline from './state/timeline';
import './state/theme';

live.start();
may.start();
reasons.start();
timeline.start();
render(<App />, document.getElementById('app')!);
