import type { WorstText } from '@fairlead/testing/worst.texts';

export type Shapes = Readonly<Record<string, WorstText>>;

/** A place where untrusted text enters, and a function that processes it like that place. */
export interface Entrance {
  /** The file that parses it. */
  readonly file: string;
  readonly what: string;
  readonly shapes: Shapes;
  /** Maximum characters accepted there. */
  readonly lengthMax: number;
  /** May return a promise. */
  readonly feed: (text: string) => unknown;
}

export const KIB = 1_024;
export const MIB = 1_024 * KIB;

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
