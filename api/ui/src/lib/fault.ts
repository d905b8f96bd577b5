// Fault is why a question was not answered. detail is what the server says about it.
export type Fault =
  | { kind: 'unreachable' }
  | { kind: 'unknown'; detail?: string } // 404: of a path that this server does not have, or of a record that it does not
  | { kind: 'unauthenticated' }
  | { kind: 'forbidden'; detail?: string }
  | { kind: 'expired' }
  | { kind: 'refused'; status: number; detail: string };

// passes tells whether a fault may go away by itself: the server is away, has no answer now, or has been asked too much.
export const passes = (fault: Fault): boolean => fault.kind === 'unreachable' || (fault.kind === 'refused' && (fault.status === 429 || fault.status >= 500));

// giveUpText says why something that was to be done was not.
export function giveUpText(fault: Fault): string {
  switch (fault.kind) {
    case 'unreachable':
      return 'No answer came, so it may have been done. Try again: it is carried out once.';
    case 'unauthenticated':
      return 'The server does not know who is asking. Close this, and give it a token.';
    case 'forbidden':
      return fault.detail || 'You may not do this.';
    case 'unknown':
      return fault.detail || 'It is not there, or this server cannot do it.';
    case 'expired':
      return 'This page is out of date: reload it.';
    case 'refused':
      return fault.detail || `The server answered ${fault.status}.`;
  }
}
