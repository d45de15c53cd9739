/** A test of the Kubernetes conformance suite, as `e2e.test --list-conformance-tests` lists it. */
export interface Case {
  readonly name: string;
  /** The SIG that owns the test, such as "sig-node". */
  readonly group: string;
}

export interface Plan {
  /** Can run in parallel. */
  readonly parallel: readonly Case[];
  /** Disrupt other tests, so they run alone. */
  readonly serial: readonly Case[];
  readonly leftOut: readonly { readonly case: Case; readonly reason: string }[];
}

const GROUPS: readonly string[] = ['sig-node', 'sig-network'];

/** Tests whose pods need an image that cannot be built without a registry. */
const LEFT_OUT: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern: /Pods should run through the lifecycle of Pods and PodStatus/,
    reason: 'its pod changes to the image httpd',
  },
  {
    pattern: /EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service/,
    reason: 'its pods run the image nginx',
  },
];

/**
 * Tests that run but cannot pass on any cluster: their image is a substitute that lacks some behaviour of the original.
 */
const STAND_INS: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern: /read only busybox container should not write to root filesystem/,
    reason: "the write is refused, in other words than busybox's: the shell of the image that stands in is bash",
  },
];

/** The reason why a failure of this test is not a fault of the cluster; undefined if it is one. */
export const excuseOf = ({ name }: Case): string | undefined =>
  STAND_INS.find(({ pattern }) => pattern.test(name))?.reason;

/**
 * Reads the suite's list: YAML of a fixed form, in which long names continue on the next line. Keeps the order and
 * removes duplicates.
 */
export const casesIn = (list: string): readonly Case[] => {
  const names = [...list.matchAll(/^  codename: ((?:.|\n {4})*)$/gm)].map(([, text = '']) => unquoted(text));
  return [...new Set(names)].map((name) => ({ name, group: /^\[([^\]]+)\]/.exec(name)?.[1] ?? '' }));
};

const unquoted = (text: string): string => {
  const line = text.replace(/\s*\n\s*/g, ' ').trim();
  if (line.startsWith("'")) return line.slice(1, -1).replaceAll("''", "'");
  return line.startsWith('"') ? (JSON.parse(line) as string) : line;
};

/** The tests of the node and network groups that can run here. */
export const planOf = (cases: readonly Case[]): Plan => {
  const ours = cases.filter(({ group }) => GROUPS.includes(group));
  const reasonOf = ({ name }: Case) => LEFT_OUT.find(({ pattern }) => pattern.test(name))?.reason;
  const runnable = ours.filter((each) => reasonOf(each) === undefined);
  return {
    parallel: runnable.filter((each) => !isSerial(each)),
    serial: runnable.filter(isSerial),
    leftOut: ours.flatMap((each) => {
      const reason = reasonOf(each);
      return reason === undefined ? [] : [{ case: each, reason }];
    }),
  };
};

const isSerial = ({ name }: Case): boolean => /\[(Serial|Disruptive)\]/.test(name);

/** A regular expression that matches exactly these tests. ginkgo prepends the name of the suite and a space. */
export const focusOn = (cases: readonly Case[]): string =>
  `(^| )(${cases.map(({ name }) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
