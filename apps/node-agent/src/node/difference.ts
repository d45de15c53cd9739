/** One thing on the host that is not as desired. */
export interface Difference {
  readonly item: string;
  /** What of the item, e.g. a package or a sysctl. */
  readonly what: string;
  readonly observed: string;
  readonly desired: string;
  /** Its repair may stop pods. Absent: it may not. */
  readonly needsDrain?: true | undefined;
}
