/* SPDX-License-Identifier: BSD-2-Clause
 * unit-schema.c - JSON Schema as a grammar: which JSON it accepts, and which schemas are refused by name. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/answer/grammar.h"
#include "src/cli/schema.h"
#include "tests/rng.h"
#include "tests/tap.h"

static gkv_grammar *grammar_of(const char *schema, char **why)
{
    char *text = strdup(schema), *g = schema_grammar(text, strlen(text), why);
    gkv_grammar *out = NULL;
    gkv_error err;

    if (g && gkv_grammar_open(&out, g, strlen(g), &err))
        *why = strdup(err.text);
    free(g);
    free(text);
    return out;
}

static bool accepts(const gkv_grammar *g, const char *json)
{
    struct gkv__match *m = NULL;
    bool yes = false;

    if (g && !gkv__match_open(&m, g, UINT64_MAX, NULL))
        yes = (!*json || !gkv__match_take(m, json, strlen(json), NULL)) && gkv__match_may_end(m);
    gkv__match_close(m);
    return yes;
}

/* "+": JSON of the schema; "-": not. */
static const struct { const char *schema, *json[18]; } table[] = {
    { "{}", { "+1", "+\"a\"", "+[1, \"b\", {}]", "+{\"a\": {\"b\": [true, null]}}", "+-1.5e3", "-", "-01", "-{a: 1}", "-'a'", "-[1,]", "-1 " } },
    { "true", { "+null", "-nul" } },
    { "{\"type\": \"string\"}", { "+\"\"", "+\"a b\"", "+\"\\u00e9\\n\\\"\"", "+\"\xc3\xa9\"", "-a", "-\"\n\"", "-\"\\q\"", "-\"a" } },
    { "{\"type\": \"boolean\"}", { "+true", "+false", "-null", "-True" } },
    { "{\"type\": \"null\"}", { "+null", "-false" } },
    { "{\"type\": \"integer\"}", { "+0", "+-12", "+999999999999999", "-1.0", "-01", "-+1", "-" } },
    { "{\"type\": \"number\"}", { "+0", "+-12.5", "+1e9", "+1.5E-3", "-.5", "-1.", "-1e", "-\"1\"" } },
    { "{\"type\": \"integer\", \"minimum\": 18, \"maximum\": 120}", { "+18", "+99", "+100", "+120", "-17", "-121", "-1", "-200", "-0", "--18", "-018" } },
    { "{\"type\": \"integer\", \"minimum\": 0}", { "+0", "+7", "+123456789", "--1", "--0" } },
    { "{\"type\": \"integer\", \"exclusiveMinimum\": 0, \"exclusiveMaximum\": 10}", { "+1", "+9", "-0", "-10" } },
    { "{\"type\": \"integer\", \"minimum\": -15, \"maximum\": 3}", { "+-15", "+-1", "+0", "+3", "--0", "--16", "-4", "+-9", "+-10", "--20" } },
    { "{\"type\": \"integer\", \"minimum\": -20, \"maximum\": -5}", { "+-5", "+-20", "+-13", "--4", "--21", "-5", "-0" } },
    { "{\"type\": \"integer\", \"minimum\": -0.5, \"maximum\": -0}", { "+0", "--", "--0", "-1" } },
    { "{\"type\": \"integer\", \"maximum\": -0}", { "+0", "+-3", "--", "-1" } },
    { "{\"type\": \"number\", \"minimum\": -0, \"maximum\": 2}", { "+0", "+0.5", "+2", "--", "-3" } },
    { "{\"type\": \"integer\", \"minimum\": 15, \"maximum\": 38}", { "+15", "+22", "+29", "+30", "+38", "-14", "-39", "-2", "-200" } },
    { "{\"enum\": [0.1, 3.14159265358979, 1e-7, 999999999999999, 123456789012345680, 0.30000000000000004, -0.5]}",
      { "+0.1", "+3.14159265358979", "+1e-07", "+999999999999999", "+1.2345678901234568e+17", "+0.30000000000000004", "+-0.5", "-0.3", "-3.14" } },
    { "{\"prefixItems\": [{\"type\": \"integer\"}, {\"type\": \"string\"}], \"maxItems\": 1}", { "+[]", "+[1]", "-[1,\"a\"]", "-[\"a\"]" } },
    { "{\"type\": \"integer\", \"minimum\": 1.5, \"maximum\": 2.5}", { "+2", "-1", "-3" } },
    { "{\"minimum\": 195, \"maximum\": 2004, \"type\": \"integer\"}", { "+195", "+199", "+1000", "+1999", "+2004", "-194", "-2005", "-3000", "-19" } },
    { "{\"type\": \"number\", \"minimum\": 0, \"maximum\": 10}", { "+0", "+0.5", "+9.99", "+10", "-10.5", "--0.5", "-11", "-1e1" } },
    { "{\"type\": \"number\", \"minimum\": -2, \"maximum\": 1}", { "+-2", "+-1.5", "+-0.5", "+0.5", "+1", "--2.5", "-1.5" } },
    { "{\"type\": \"number\", \"minimum\": -5, \"maximum\": -2}", { "+-2", "+-2.5", "+-4.9", "+-5", "--1.5", "--5.1", "-2" } },
    { "{\"type\": \"number\", \"exclusiveMinimum\": 0}", { "+0.5", "+0.001", "+1", "+999999999999999", "-0", "-0.0", "-0.00", "--1", "--0.5" } },
    { "{\"type\": \"number\", \"exclusiveMinimum\": 0, \"exclusiveMaximum\": 1}", { "+0.5", "+0.10", "-0", "-1", "-1.5", "-0.0" } },
    { "{\"type\": \"number\", \"exclusiveMaximum\": 0}", { "+-0.5", "+-7", "--0", "-0", "-0.5", "--0.0" } },
    { "{\"type\": \"number\", \"minimum\": -3, \"exclusiveMinimum\": -3, \"exclusiveMaximum\": -1}", { "+-1.5", "+-2", "+-2.9", "--3", "--1",
      "--1.0", "-0" } },
    { "{\"type\": \"number\", \"exclusiveMinimum\": -2, \"exclusiveMaximum\": 2}", { "+-1.9", "+-0.0", "+0", "+1.9", "--2", "-2" } },
    { "{\"type\": \"number\", \"minimum\": 2, \"exclusiveMinimum\": 1, \"maximum\": 4, \"exclusiveMaximum\": 5}", { "+2", "+4", "-1.5", "-4.5" } },
    { "{\"type\": \"string\", \"minLength\": 2, \"maxLength\": 3}", { "+\"ab\"", "+\"a\xc3\xa9\\n\"", "-\"a\"", "-\"abcd\"" } },
    { "{\"minLength\": 1}", { "+\"a\"", "-\"\"", "-1" } },
    { "{\"type\": \"string\", \"maxLength\": 0}", { "+\"\"", "-\"a\"" } },
    { "{\"type\": \"string\", \"maxLength\": -0}", { "+\"\"", "-\"a\"" } },
    { "{\"type\": \"string\", \"format\": \"date\"}", { "+\"2026-11-24\"", "-\"2026-13-01\"", "-\"2026-1-1\"", "-\"2026-01-32\"" } },
    { "{\"type\": \"string\", \"format\": \"date-time\"}", { "+\"2026-11-24T23:59:59Z\"", "+\"2026-11-24T00:00:00.123+01:30\"", "-\"2026-11-24\"" } },
    { "{\"type\": \"string\", \"format\": \"uuid\"}", { "+\"01234567-89ab-cdef-0123-456789abcdef\"", "-\"0123\"" } },
    { "{\"enum\": [\"a\\\"b\", 1, 2.5, null, [1, {\"x\": true}]]}", { "+\"a\\\"b\"", "+1", "+2.5", "+null", "+[1, {\"x\": true}]", "-\"a\"", "-2" } },
    { "{\"const\": \"\xc3\xa9\\n\"}", { "+\"\xc3\xa9\\u000a\"", "-\"e\"" } },
    { "{\"type\": [\"string\", \"null\"], \"maxLength\": 1}", { "+\"a\"", "+null", "-\"ab\"", "-1" } },
    { "{\"type\": \"array\"}", { "+[]", "+[1, [2], {}]", "-{}", "-[1 2]" } },
    { "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", { "+[]", "+[1]", "+[1,2]", "+[\n  1,\n  2\n]", "-[\"a\"]", "-[1,]", "-[,1]" } },
    { "{\"items\": {\"type\": \"integer\"}, \"minItems\": 2, \"maxItems\": 3}", { "+[1,2]", "+[1,2,3]", "-[]", "-[1]", "-[1,2,3,4]" } },
    { "{\"items\": {\"type\": \"integer\"}, \"minItems\": 1}", { "+[1]", "+[1,2,3,4]", "-[]" } },
    { "{\"items\": {\"type\": \"integer\"}, \"maxItems\": 1}", { "+[1]", "+[]", "-[1,2]" } },
    { "{\"items\": true, \"maxItems\": 0}", { "+[]", "-[1]" } },
    { "{\"prefixItems\": [{\"type\": \"integer\"}, {\"type\": \"string\"}]}", { "+[]", "+[1]", "+[1,\"a\"]", "+[1,\"a\",null]", "-[\"a\"]", "-[1,2]" } },
    { "{\"prefixItems\": [{\"type\": \"integer\"}, {\"type\": \"string\"}], \"items\": false, \"minItems\": 2}", { "+[1,\"a\"]", "-[1]", "-[1,\"a\",1]", "-[]" } },
    { "{\"prefixItems\": [{\"type\": \"integer\"}], \"items\": {\"type\": \"null\"}, \"minItems\": 2, \"maxItems\": 3}", { "+[1,null]", "+[1,null,null]", "-[1]", "-[1,null,null,null]", "-[null,null]" } },
    { "{\"type\": \"object\"}", { "+{}", "+{\"a\": 1, \"b\": {}}", "-[]", "-{\"a\"}" } },
    { "{\"properties\": {\"a\": {\"type\": \"integer\"}, \"b\": {\"type\": \"string\"}, \"c\": {}}, \"required\": [\"b\"]}",
      { "+{\"b\":\"x\"}", "+{\"a\":1,\"b\":\"x\"}", "+{\"a\": 1, \"b\": \"x\", \"c\": []}", "+{\"b\":\"x\",\"c\":0}", "-{\"a\":1}", "-{}", "-{\"b\":\"x\",\"a\":1}",
        "-{\"b\":1}", "-{\"b\":\"x\",}", "-{,\"b\":\"x\"}", "-{\"b\":\"x\",\"d\":1}", "+{\n  \"b\": \"x\"\n}" } },
    { "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"null\"}, \"b\": {\"type\": \"null\"}}}", { "+{}", "+{\"a\":null}", "+{\"b\":null}", "+{\"a\":null,\"b\":null}", "-{\"a\":null\"b\":null}" } },
    { "{\"type\": \"object\", \"properties\": {\"a\\\"\\u00e9\": {\"type\": \"null\"}}, \"additionalProperties\": false}", { "+{\"a\\\"\xc3\xa9\":null}", "-{\"a\":null}" } },
    { "{\"additionalProperties\": {\"type\": \"integer\"}}", { "+{}", "+{\"a\":1}", "+{\"a\":1,\"b\":2}", "-{\"a\":\"x\"}" } },
    { "{\"properties\": {\"ab\": {\"type\": \"null\"}, \"a]\": {\"type\": \"null\"}}, \"additionalProperties\": {\"type\": \"integer\"}}",
      { "+{}", "+{\"ab\":null}", "+{\"ab\":null,\"a\":1}", "+{\"a\":1}", "+{\"abc\":1,\"b\":2}", "+{\"\":1}", "-{\"ab\":1}", "-{\"a]\":1}", "+{\"a]\":null}", "-{\"a\\u0062\":1}" } },
    { "{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]}", { "+1", "+null", "-\"a\"" } },
    { "{\"oneOf\": [{\"const\": 1}, {\"const\": 2}], \"title\": \"x\", \"description\": \"y\", \"default\": 1}", { "+1", "+2", "-3" } },
    { "{\"allOf\": [{\"properties\": {\"a\": {\"const\": 1}}, \"required\": [\"a\"]}, {\"$ref\": \"#/$defs/b\"}], \"$defs\": {\"b\": {\"properties\": {\"b\": {\"const\": 2}}}}}",
      { "+{\"a\": 1}", "+{\"a\":1,\"b\":2}", "-{\"b\":2}", "-{}" } },
    { "{\"$ref\": \"#/definitions/a~1b\", \"definitions\": {\"a/b\": {\"type\": \"integer\"}}}", { "+1", "-\"a\"" } },
    { "{\"$ref\": \"#/definitions/a~0~1\", \"definitions\": {\"a~/\": {\"type\": \"integer\"}, \"a//\": {}}}", { "+1", "-\"a\"" } },
    { "{\"$ref\": \"#/definitions/a~\", \"definitions\": {\"a~\": {\"type\": \"integer\", \"title\": \"x\", \"description\": \"y\"}}}",
      { "+1", "-\"a\"" } },
    { "{\"$defs\": {\"n\": {\"type\": \"object\", \"properties\": {\"v\": {\"type\": \"integer\"}, \"next\": {\"anyOf\": [{\"$ref\": \"#/$defs/n\"}, {\"type\": \"null\"}]}}, "
      "\"required\": [\"v\", \"next\"]}}, \"$ref\": \"#/$defs/n\"}", { "+{\"v\":1,\"next\":{\"v\":2,\"next\":null}}", "-{\"v\":1}", "-{\"v\":1,\"next\":{}}" } },
    { "{\"$ref\": \"#/$defs/x/1\", \"$defs\": {\"x\": [{\"type\": \"null\"}, {\"type\": \"integer\"}]}}",
      { "+1", "-null" } },
    { "{\"$ref\": \"#/$defs/~\", \"$defs\": {\"~\": {\"type\": \"null\"}}}", { "+null", "-1" } },
    { "{\"const\": \"\\u0001\\u007f\"}", { "+\"\\u0001\\u007f\"", "-\"\"" } },
    { "{\"properties\": {\"a\\u0001\": {\"type\": \"null\"}}, \"additionalProperties\": false}",
      { "+{\"a\\u0001\":null}", "-{\"a\":null}" } },
    { "{\"type\": \"number\", \"maximum\": 2, \"exclusiveMaximum\": 3}", { "+2", "+-7.5", "-2.5", "-3" } },
    { "{\"type\": \"integer\", \"maximum\": 2}", { "+2", "+-7", "-3" } },
    { "{\"items\": {\"$ref\": \"#\"}}", { "+[]", "+[[],[[]]]", "-[1]" } },
};

static const struct { const char *schema, *why; } refused[] = {
    { "", "not JSON, at byte 0" }, { "{\"type\": \"string\"", "not JSON" }, { "false", "an object, or true" }, { "[]", "an object, or true" },
    { "{\"type\": \"text\"}", "no type \"text\"" }, { "{\"type\": 1}", "no type" }, { "{\"type\": \"string\", \"pattern\": \"a\"}", "keyword pattern" },
    { "{\"multipleOf\": 2}", "keyword multipleOf" }, { "{\"not\": {}}", "keyword not" }, { "{\"if\": {}}", "keyword if" },
    { "{\"type\": \"array\", \"uniqueItems\": true}", "keyword uniqueItems" }, { "{\"contains\": {}}", "keyword contains" },
    { "{\"type\": \"object\", \"minProperties\": 1}", "keyword minProperties" }, { "{\"patternProperties\": {}}", "keyword patternProperties" },
    { "{\"type\": \"string\", \"minimum\": 1}", "minimum does not go with" }, { "{\"type\": \"string\", \"format\": \"email\"}", "format \"email\"" },
    { "{\"anyOf\": [], \"title\": \"\"}", "anyOf is not an array" }, { "{\"anyOf\": [{}], \"type\": \"object\"}", "type is not supported beside anyOf" },
    { "{\"enum\": []}", "enum is not" }, { "{\"$ref\": \"other.json\"}", "$ref \"other.json\"" }, { "{\"$ref\": \"#/a\"}", "$ref \"#/a\"" },
    { "{\"$ref\": \"#\"}", "never ends" }, { "{\"allOf\": [{\"$ref\": \"#\"}]}", "in a circle" }, { "{\"allOf\": [{\"type\": \"string\"}]}", "objects only" },
    { "{\"allOf\": {\"a\": {}}}", "allOf not an array" },
    { "{\"minLength\": 3, \"maxLength\": 2}", "above maxLength" }, { "{\"minLength\": -1}", "minLength is not" }, { "{\"maxLength\": 1e9}", "maxLength is not" },
    { "{\"minItems\": 1.5}", "minItems is not" }, { "{\"type\": \"string\", \"format\": \"date\", \"maxLength\": 3}", "does not go together" },
    { "{\"minItems\": 3, \"maxItems\": 2}", "minItems is above" }, { "{\"type\": \"integer\", \"minimum\": 3, \"maximum\": 2}", "no integer" },
    { "{\"type\": \"integer\", \"minimum\": 1e20}", "15 digits" }, { "{\"type\": \"number\", \"minimum\": 0.5}", "have to be whole" },
    { "{\"type\": \"number\", \"minimum\": 1, \"exclusiveMaximum\": 1}", "no number is" }, { "{\"properties\": {\"a\": false}}", "neither an object nor true" },
    { "{\"properties\": {\"a\": 1}}", "neither an object nor true" }, { "{\"properties\": [], \"required\": {}}", "properties is not" },
    { "{\"properties\": {}, \"required\": [\"a\"]}", "\"a\" is required" }, { "{\"properties\": {\"a\": {}, \"a\": {}}}", "twice" },
    { "{\"properties\": {\"\\u00e9\": {}}, \"additionalProperties\": true}", "plain ASCII" },
    { "{\"properties\": {\"\\u0001\": {}}, \"additionalProperties\": true}", "plain ASCII" },
    { "{\"properties\": {\"\\\"\": {}}, \"additionalProperties\": true}", "plain ASCII" },
    { "{\"properties\": {\"a\\\\\": {}}, \"additionalProperties\": true}", "plain ASCII" },
    { "{\"allOf\": [{\"properties\": {}, \"additionalProperties\": {\"type\": \"null\"}}]}", "not supported in allOf" },
    { "{\"type\": \"number\", \"maximum\": 0.5}", "have to be whole" },
    { "{\"type\": \"number\", \"minimum\": 2, \"maximum\": 1}", "no number is" },
    { "{\"type\": \"number\", \"exclusiveMinimum\": 1, \"maximum\": 1}", "no number is" },
    { "{\"type\": \"string\", \"format\": 1}", "the format \"\"" },
    { "{\"type\": \"string\", \"format\": \"date\", \"minLength\": 3}", "does not go together" },
    { "{\"type\": \"string\", \"format\": \"date\", \"maxLength\": 0}", "does not go together" },
    { "{\"type\": \"integer\", \"minLength\": 3}", "minLength does not go with" },
    { "{\"type\": [\"integer\"], \"minLength\": 3}", "minLength does not go with" },
    { "{\"properties\": {}, \"required\": [1]}", "\"\" is required" },
    { "{\"$ref\": \"#/$defs/x\", \"$defs\": [{\"type\": \"null\"}]}", "$ref \"#/$defs/x\"" },
    { "{\"$ref\": \"#/$defs/-1\", \"$defs\": [{\"type\": \"null\"}]}", "$ref \"#/$defs/-1\"" },
    { "{\"$ref\": \"#/$defs/0/9\", \"$defs\": [[]]}", "$ref \"#/$defs/0/9\"" },
};

/* Schemas of random words: a grammar, or a reason. */
static void test_random(void)
{
    static const char *const word[] = { "{", "}", "[", "]", ",", ":", "\"type\"", "\"object\"", "\"array\"", "\"integer\"", "\"properties\"", "\"a\"",
                                        "\"items\"", "\"$ref\"", "\"#\"", "\"#/items\"", "\"allOf\"", "\"required\"", "1", "-3", "1e300", "true", "false",
                                        "\"minimum\"", "\"enum\"", "\"additionalProperties\"", "\"maxItems\"", "\"prefixItems\"" };
    bool good = true;
    unsigned accepted = 0;

    for (int round = 0; round < 50000 && good; round++) {
        char text[1024] = "{";
        char *why = NULL;
        gkv_grammar *g;
        uint32_t n = rng() % 8;

        for (uint32_t i = 0; i < n; i++) {              /* often like a schema */
            strcat(text, i ? "," : "");
            strcat(text, word[6 + rng() % (sizeof word / sizeof *word - 6)]);
            strcat(text, ":");
            if (rng() % 3 == 0)
                strcat(text, rng() % 2 ? "{\"a\":" : "[");
            strcat(text, word[rng() % (sizeof word / sizeof *word)]);
            if (rng() % 3 == 0)
                strcat(text, rng() % 2 ? "}" : "]");
        }
        strcat(text, "}");
        g = grammar_of(text, &why);
        good = g || (why && *why);
        accepted += g != NULL;
        gkv_grammar_close(g);
        free(why);
    }
    ok(good && accepted > 100, "random schemas: a grammar, or a reason (%u)", accepted);
}

static void refuses(const char *schema, const char *want, const char *what)
{
    char *why = NULL;
    gkv_grammar *g = grammar_of(schema, &why);

    ok(!g && why && strstr(why, want), "refused: %s (%s)", what, why ? why : "accepted");
    gkv_grammar_close(g);
    free(why);
}

/* Small schemas whose grammars would take very long, or be very long. */
static void test_large(void)
{
    static char text[(1 << 20) + 2];
    char *at = text + sprintf(text, "{\"$ref\": \"#/$defs/d0\", \"$defs\": {");

    for (int i = 0; i < 14; i++) {                      /* ten times as many at each level */
        at += sprintf(at, "\"d%d\": {\"type\": \"object\", \"allOf\": [", i);
        for (int j = 0; j < 10; j++)
            at += sprintf(at, "%s{\"$ref\": \"#/$defs/d%d\"}", j ? ", " : "", i + 1);
        at += sprintf(at, "]}, ");
    }
    sprintf(at, "\"d14\": {\"type\": \"object\"}}}");
    refuses(text, "too many", "allOf of allOf, 10^14 of them");

    memset(text, ' ', (1 << 20) + 1);
    text[0] = '{';
    text[1] = '}';
    text[1 << 20] = 0;
    {
        char *why = NULL;
        gkv_grammar *g = grammar_of(text, &why);

        ok(g && !why, "a schema of 2^20 bytes");
        gkv_grammar_close(g);
        free(why);
    }
    text[1 << 20] = ' ';
    refuses(text, "too large", "a schema of a byte more");

    at = text + sprintf(text, "{\"prefixItems\": [true");
    for (int i = 0; i < 10000; i++)
        at += sprintf(at, ",true");
    sprintf(at, "]}");
    refuses(text, "10000 elements", "10001 prefixItems");

    at = text + sprintf(text, "{\"properties\": {\"p\": {}");
    for (int i = 0; i < 10000; i++)
        at += sprintf(at, ",\"%d\":{}", i);
    sprintf(at, "}}");
    refuses(text, "more than 10000 properties", "10001 properties");

    at = text + sprintf(text, "{\"additionalProperties\": true, \"properties\": {\"p\": {}");
    for (int i = 0; i < 1000; i++)
        at += sprintf(at, ",\"%d\":{}", i);
    sprintf(at, "}}");
    refuses(text, "more than 1000 properties", "others beside 1001 properties");
    sprintf(text, "{\"additionalProperties\": true, \"properties\": {\"%0201d\": {}}}", 1);
    refuses(text, "names of more than 200 bytes", "others beside a name of 201 bytes");

    at = text + sprintf(text, "{\"anyOf\": [{}");
    for (int i = 0; i < 10000; i++)
        at += sprintf(at, ",{}");
    sprintf(at, "]}");
    refuses(text, "more than 10000 parts", "10001 schemas");

    at = text + sprintf(text, "{\"$defs\": {\"long\": {\"type\": \"object\", \"properties\": {");
    for (int i = 0; i < 2000; i++)
        at += sprintf(at, "%s\"%s%d\": {\"type\": \"null\"}", i ? "," : "", "a property with a very long name and number ", i);
    at += sprintf(at, "}}}, \"prefixItems\": [");
    for (int i = 0; i < 2000; i++)
        at += sprintf(at, "%s{\"type\": \"object\", \"allOf\": [{\"$ref\": \"#/$defs/long\"}]}", i ? "," : "");
    sprintf(at, "]}");
    refuses(text, "larger than 64 MiB", "the properties of an object, written 2000 times");
}

int main(void)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *why = NULL;
        gkv_grammar *g = grammar_of(table[i].schema, &why);
        bool good = g;

        if (!g)
            printf("# %s\n", why ? why : "?");
        for (size_t j = 0; table[i].json[j]; j++)
            if (accepts(g, table[i].json[j] + 1) != (*table[i].json[j] == '+')) {
                printf("# wrong about %s\n", table[i].json[j]);
                good = false;
            }
        ok(good, "%s", table[i].schema);
        gkv_grammar_close(g);
        free(why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char *why = NULL;
        gkv_grammar *g = grammar_of(refused[i].schema, &why);
        const bool good = !g && why && strstr(why, refused[i].why);

        ok(good, "refused: %s", refused[i].schema);
        if (!good)
            printf("# %s\n", why ? why : "accepted");
        gkv_grammar_close(g);
        free(why);
    }
    test_large();
    test_random();
    return done();
}
