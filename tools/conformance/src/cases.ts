/** One test of Kubernetes' own conformance suite, as `e2e.test --list-conformance-tests` names it. */
export interface Case {
  readonly name: string;
  /** Of what it is a promise: "sig-node". */
  readonly group: string;
}

export interface Plan {
  /** May run side by side. */
  readonly parallel: readonly Case[];
  /** Change what others stand on, and run alone. */
  readonly serial: readonly Case[];
  readonly leftOut: readonly { readonly case: Case; readonly reason: string }[];
}

const GROUPS: readonly string[] = ['sig-node', 'sig-network'];

/** Cases whose pods need an image that cannot be made without a registry. */
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

/** Cases that are run and cannot pass, whatever the cluster does: they need behaviour of an image that its substitute does not have. */
const STAND_INS: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern: /read only busybox container should not write to root filesystem/,
    reason: "the write is refused, in other words than busybox's: the shell of the image that stands in is bash",
  },
];

/** Why a failure of this case is not a fault of the cluster; undefined when it is. */
export const excuseOf = ({ name }: Case): string | undefined =>
  STAND_INS.find(({ pattern }) => pattern.test(name))?.reason;

/**
 * Reads the suite's list: YAML of a form that is always the same, names of which go on over lines. The order is the list's, and
 * nothing is there twice.
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

/** Of the node and network groups, what can run here. */
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

/** A regular expression for these cases and no others; ginkgo puts the name of the suite and a space before theirs. */
export const focusOn = (cases: readonly Case[]): string =>
  `(^| )(${cases.map(({ name }) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
