import { z } from 'zod';
import { EXEC_LIMITS } from '../exec.limits.js';
import { Cause } from '../failures.js';
import { ClusterUid, NodeName, SecretRef } from '../ids.js';
import { defineEvent } from './definition.js';

const one = { uid: ClusterUid, requestId: z.string().describe('Of the NodeExecRequested'), node: NodeName };

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'bootstrap-svc', context: 'access', doc, data });

/** Commands that operators run on nodes. The command is on record, its output never is. */
export const execEvents = {
  NodeExecRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'Someone asked for a command to be run on a node, once.',
    data: z.strictObject({
      uid: ClusterUid,
      requestId: z.string(),
      node: NodeName,
      purpose: z.enum(['exec', 'logs']),
      command: z.array(z.string()).min(1).max(EXEC_LIMITS.words).describe('Program and arguments; no secrets'),
      timeoutSeconds: z.int().min(1).max(EXEC_LIMITS.timeoutSeconds.max),
    }),
  }),
  NodeExecStarted: fact('The command is about to run on the node; it is never run again.', z.strictObject(one)),
  NodeExecFinished: fact(
    'The command has ended; its output is sealed under the key of the cluster for a short time.',
    z.strictObject({
      ...one,
      exitCode: z.int().min(0).max(255).describe('124: it was ended by its time limit'),
      stdoutBytes: z.int().min(0),
      stderrBytes: z.int().min(0),
      truncated: z.boolean().describe('Only the beginning of its output was kept'),
      tookMs: z.int().min(0),
      outputRef: SecretRef,
      expiresAt: z.iso.datetime().describe('When the output is removed'),
    }),
  ),
  NodeExecFailed: fact(
    'The command did not run, or its outcome is unknown because the connection or the service broke meanwhile.',
    z.strictObject({ ...one, cause: Cause }),
  ),
  NodeExecOutputRemoved: fact('The sealed output of a command was deleted.', z.strictObject(one)),
} as const;
