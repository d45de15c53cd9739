import { applyDecorators } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { CommandHeaders } from './documented.js';
import { Idempotent } from './idempotency.js';

/** A route that may be repeated under a key, and ends with its answer. */
export const KeyedCommand = (stored: 'plain' | 'sealed' = 'plain'): MethodDecorator =>
  applyDecorators(Idempotent(stored), CommandHeaders({ ends: false }));

interface OperatorCommandOptions {
  readonly ends?: boolean;
  /** With dryRun=All it changes nothing, and viewers may call it. */
  readonly dryRun?: boolean;
}

/**
 * A route by which operators of a namespace change something in it: it can be repeated under a key, and its end waited for, unless it
 * ends with its answer.
 */
export const OperatorCommand = ({ ends = true, dryRun = false }: OperatorCommandOptions = {}): MethodDecorator =>
  applyDecorators(Idempotent(), CommandHeaders({ ends }), RoleInNamespace('operator', dryRun ? 'viewer' : 'operator'));
