import { TestEnvironment } from 'jest-environment-node';
import { types } from 'node:util';

/**
 * Jest runs specs in their own realm, in which an error that Node's own modules throw is not `instanceof Error`.
 * Programs have no such second realm, so here such an error counts as what it is.
 */
export default class NodeEnvironment extends TestEnvironment {
  async setup() {
    await super.setup();
    const RealmError = this.global.Error;
    const ordinary = Function.prototype[Symbol.hasInstance];
    Object.defineProperty(RealmError, Symbol.hasInstance, {
      value(thrown) {
        return this === RealmError
          ? types.isNativeError(thrown) || ordinary.call(this, thrown)
          : ordinary.call(this, thrown);
      },
    });
  }
}
