import * as z from 'zod';
import { EXEC_LIMITS, LOG_LINES, LogUnit } from '../exec.limits.js';
import { Cause } from '../failures.js';
import { ClusterUid, NodeName, SecretRef } from '../ids.js';
import { defineEvent } from './definition.js';

const one = { uid: ClusterUid, requestId: z.string().describe('Of the NodeExecRequested'), node: NodeName };

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'bootstrap-svc', context: 'access', doc, data });

/** Commands that operators run on nodes. The command is recorded, its output never is. */
export const execEvents = {
  NodeExecRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'A command on a node was requested, to run once.',
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
  NodeLogsFollowRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'audit',
    doc: 'Following the log of a unit on a node was requested.',
    data: z.strictObject({
      uid: ClusterUid,
      requestId: z.string(),
      node: NodeName,
      unit: LogUnit,
      lines: z.int().min(1).max(LOG_LINES.max).describe('So many of those that were there are read first'),
      sinceSeconds: z.int().min(1).optional().describe('Of these, only what was logged within this time'),
    }),
  }),
  NodeLogsFollowEnded: fact(
    'The log is no longer followed. What was read of it is stored nowhere.',
    z.strictObject({
      ...one,
      reason: z
        .enum(['reader-gone', 'time-limit', 'failed'])
        .describe('reader-gone: the reader has left, or its gateway has ended'),
      cause: Cause.optional().describe('Of reason failed'),
      bytes: z.int().min(0).describe('Sent since bootstrap-svc was started last'),
      skippedLines: z.int().min(0).describe('Left out in this time, as they came too fast'),
      tookMs: z.int().min(0),
    }),
  ),
  NodeExecOutputRemoved: fact('The sealed output of a command was deleted.', z.strictObject(one)),
} as const;
