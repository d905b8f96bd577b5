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
