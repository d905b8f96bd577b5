// The little of Node that tests use.
declare module 'node:test' {
  export default function test(name: string, run: () => void): void;
}

declare module 'node:assert/strict' {
  interface Assert {
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    rejects(block: Promise<unknown>, error?: RegExp): Promise<void>;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    ok(value: unknown, message?: string): void;
  }
  const assert: Assert;
  export default assert;
}
