/** One difference between the host and its desired state. */
export interface Difference {
  readonly item: string;
  /** The part of the item, e.g. a package or a sysctl. */
  readonly what: string;
  readonly observed: string;
  readonly desired: string;
  /** Its repair may stop pods; absent: it may not. */
  readonly needsDrain?: true | undefined;
}
