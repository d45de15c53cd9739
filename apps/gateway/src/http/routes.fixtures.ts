import type { RequestMethod } from '@nestjs/common';
import { type Type } from '@nestjs/common';
import { METHOD_METADATA, MODULE_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import 'reflect-metadata';
import { ACCESS, type Access } from '../access/access.js';
import { readSettings } from '../config.js';
import { gatewayModule } from '../gateway.module.js';
import { LADYBUG, RECORDS, REFUSES, type Recording } from './documented.js';

/** A route as its decorators declare it. */
export interface Route {
  /** Of its controller and method. */
  readonly name: string;
  readonly method: RequestMethod;
  /** Without its base. */
  readonly path: string;
  readonly bases: readonly string[];
  readonly handler: object;
  readonly access: Access | undefined;
  readonly refuses: readonly string[] | undefined;
  readonly records: Recording | undefined;
}

const routesOf = (controller: Type<unknown>): readonly Route[] => {
  const prototype = controller.prototype as Record<string, object>;
  const places = [Reflect.getMetadata(PATH_METADATA, controller)].flat() as string[];
  const [base] = places;
  return Object.getOwnPropertyNames(prototype)
    .map((name) => ({ name, handler: prototype[name]! }))
    .filter(({ handler }) => Reflect.hasMetadata(METHOD_METADATA, handler))
    .map(({ name, handler }) => ({
      name: `${controller.name}.${name}`,
      method: Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod,
      path: `${base}/${Reflect.getMetadata(PATH_METADATA, handler)}`,
      bases: places.map((place) => (place === base ? '' : `/${LADYBUG}`)),
      handler,
      access: Reflect.getMetadata(ACCESS, handler) as Access | undefined,
      refuses: Reflect.getMetadata(REFUSES, handler) as readonly string[] | undefined,
      records: Reflect.getMetadata(RECORDS, handler) as Recording | undefined,
    }));
};

/** All routes of the gateway. */
export const gatewayRoutes = (): readonly Route[] => {
  const controllers = Reflect.getMetadata(MODULE_METADATA.CONTROLLERS, gatewayModule(readSettings({})));
  return (controllers as Type<unknown>[]).flatMap(routesOf);
};
