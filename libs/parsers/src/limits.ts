/** What a text may contain. A parser refuses whatever is more before it has built it. */
export interface ParseLimits {
  /** Characters. */
  readonly lengthMax: number;
  /** Arrays and objects within each other. */
  readonly depthMax?: number;
  /** Keys, scalars, arrays and objects together. */
  readonly valuesMax?: number;
}

/** Serializers and schemas recurse. The deepest resource of Kubernetes has about 20 levels. */
export const DEPTH_MAX = 64;
