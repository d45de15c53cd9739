import { applyDecorators } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { CommandHeaders } from './documented.js';
import { Idempotent } from './idempotency.js';

/** A route that may be repeated under a key, and ends with its answer. */
export const KeyedCommand = (stored: 'plain' | 'sealed' = 'plain'): MethodDecorator =>
  applyDecorators(Idempotent(stored), CommandHeaders({ ends: false }));

/**
 * A route by which operators of a namespace change something in it: it can be repeated under a key, and its end waited for, unless it
 * ends with its answer.
 */
export const OperatorCommand = ({ ends = true }: { readonly ends?: boolean } = {}): MethodDecorator =>
  applyDecorators(Idempotent(), CommandHeaders({ ends }), RoleInNamespace('operator'));
