import { applyDecorators } from '@nestjs/common';
import { RoleInNamespace } from '../auth/access.js';
import { CommandHeaders } from './documented.js';
import { Idempotent } from './idempotency.js';

/** A route by which operators of a namespace change something in it: it can be repeated under a key, and its end waited for. */
export const OperatorCommand = (): MethodDecorator =>
  applyDecorators(Idempotent(), CommandHeaders(), RoleInNamespace('operator'));
