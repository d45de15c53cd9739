import * as z from 'zod';
import { limitedRecord } from './limited.record.js';

const LABELS_MAX = 64;

const NAME = '([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)';
const PREFIX = '([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)';
const KEY_LENGTH_MAX = 253 + 1 + 63;

/** A qualified name in Kubernetes: `tier`, `example.com/tier`. */
export const LabelKey = z
  .string()
  .max(KEY_LENGTH_MAX)
  .regex(new RegExp(`^${PREFIX}?${NAME}$`), 'must be a label key of Kubernetes, such as tier or example.com/tier');
export const LabelValue = z
  .string()
  .max(63)
  .regex(new RegExp(`^${NAME}?$`), 'must be a label value: at most 63 letters, digits, dashes, dots and underscores');

export const Labels = limitedRecord(LabelKey, LabelValue, LABELS_MAX);
export type Labels = z.infer<typeof Labels>;
