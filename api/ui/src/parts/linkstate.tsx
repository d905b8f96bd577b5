import { clockTime } from '../lib/format';
import { type Link, link, lostSince } from '../state/eventstream';

const words: Record<Link, string> = {
  connecting: 'Connecting',
  live: 'Live',
  polling: 'Every 5 s',
  lost: 'Disconnected',
  paused: 'Paused',
  shut: 'Not live',
};

// LinkState says whether what is shown is what is.
export function LinkState() {
  return (
    <span class={`link ${link.value}`} data-link={link.value}>
      <i aria-hidden="true" /> {words[link.value]}
    </span>
  );
}

// LostBanner says that the server is away, and as of when the page is.
export function LostBanner() {
  if (link.value !== 'lost') return null;
  return (
    <p class="banner" role="status">
      <b>The server cannot be reached.</b> What is shown is as of {clockTime(new Date(lostSince.value).toISOString())}; this page goes on by itself.
    </p>
  );
}
