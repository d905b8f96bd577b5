import { render } from 'preact';
import { App } from './views/app';
import * as fleet from './state/fleet';
import * as eventStream from './state/eventstream';
import * as permissions from './state/permissions';
import * as reasons from './state/reasons';
import * as timeline from './state/timeline';
import './state/theme';

eventStream.start();
fleet.start();
permissions.start();
reasons.start();
timeline.start();
render(<App />, document.getElementById('app')!);
