/** Limits of a text. A parser rejects whatever exceeds them before it is built. */
export interface ParseLimits {
  /** Characters. */
  readonly lengthMax: number;
  /** Nesting of arrays and objects. */
  readonly depthMax?: number;
  /** Keys, scalars, arrays and objects in total. */
  readonly valuesMax?: number;
}

/** Serializers and schemas are recursive. The deepest Kubernetes resource has about 20 levels. */
export const DEPTH_MAX = 64;
