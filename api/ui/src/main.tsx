import { render } from 'preact';
import { App } from './views/app';
import * as fleet from './state/fleet';
import * as eventStream from './state/eventstream';
import * as self from './state/self';
import * as timeline from './state/timeline';
import './state/theme';

eventStream.start();
fleet.start();
self.start();
timeline.start();
render(<App />, document.getElementById('app')!);
