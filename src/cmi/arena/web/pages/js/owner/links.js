// Addresses within the owner's page, which is where its numbers lead: #pairs?state=done, #votes?person=ID, #trial?id=ID.
import { el } from "../dom.js";

export const votesAt = (query = {}) => address("votes", query);
export const pairsAt = (query = {}) => address("pairs", query);
export const pairAt = (id) => address("pair", { id });
export const ratingsAt = (query = {}) => address("ratings", query);
export const trialsAt = (query = {}) => address("trials", query);
export const trialAt = (id) => address("trial", { id });
export const personAt = (id) => address("person", { id });

/** A number or a text that leads to what is behind it. */
export const linked = (text, href) => el("a", { href }, String(text));

/** {name, query} of an address such as #votes?axis=alignment. */
export function readAddress(hash) {
  const [name, search = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  const query = {};
  for (const [key, value] of new URLSearchParams(search)) query[key] = key in query ? [query[key], value].flat() : value;
  return { name, query };
}

export function address(name, query) {
  const search = asSearch(query);
  return `#${name}${search && `?${search}`}`;
}

/** The query as a request has it, without what is empty; a list has its name several times. */
export function asSearch(query) {
  const given = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one ?? ""]));
  return new URLSearchParams(given.filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)])).toString();
}
