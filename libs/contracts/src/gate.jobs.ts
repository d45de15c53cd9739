import { ParseFailure, parseYaml } from '@fairlead/parsers';
import * as z from 'zod';
import { PoolName } from './ids.js';

/** Maximum length of a gate's Job manifest, as JSON or YAML. */
export const GATE_MANIFEST_LENGTH_MAX = 16_384;
/** A Job is about ten levels deep. */
const DEPTH_MAX = 24;
const VALUES_MAX = 4_000;

/** The parts of a gate's Job that Fairlead reads; the API server validates the rest. */
export const JobManifest = z.looseObject({
  apiVersion: z.literal('batch/v1'),
  kind: z.literal('Job'),
  metadata: z.looseObject({ name: PoolName }),
  spec: z.looseObject({}),
});
export type JobManifest = z.infer<typeof JobManifest>;

/** A manifest given as an object. Its content is validated like that of a text. */
export const GateManifest = z.record(z.string(), z.unknown());

const parsedText = (text: string): unknown =>
  parseYaml(text, { lengthMax: GATE_MANIFEST_LENGTH_MAX, depthMax: DEPTH_MAX, valuesMax: VALUES_MAX });

const faultOf = (error: z.ZodError): string => {
  const [issue] = error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  return field === '' ? 'it is not an object' : `its ${field} is missing, or is not that of a Job of batch/v1`;
};

/** The Job of a gate, from a request or an old event. `why`: the fault, in a sentence that begins with "it". */
export const gateJobOf = (manifest: unknown): { readonly job: JobManifest } | { readonly why: string } => {
  try {
    const value = parsedText(typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    const job = JobManifest.safeParse(value);
    return job.success ? { job: job.data } : { why: faultOf(job.error) };
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    return { why: error.message };
  }
};
