// Fault is why a question was not answered.
export type Fault =
  | { kind: 'unreachable' }
  | { kind: 'unknown' } // 404: of a path that this server does not have, or of a record that it does not
  | { kind: 'unauthenticated' }
  | { kind: 'forbidden' }
  | { kind: 'expired' }
  | { kind: 'refused'; status: number; detail: string };
