/* Carries out the SQL statements of a file on a database in memory and prints how many rows they gave and a
 * checksum of them: SQLite's shell is no part of its amalgamation. */
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>

static unsigned long rows, sum;

static int row(void *context, int columns, char **values, char **names)
{
    (void)context, (void)names;
    rows++;
    for (int i = 0; i < columns; i++)
        for (const char *c = values[i] ? values[i] : ""; *c; c++) sum = sum * 31 + (unsigned char)*c;
    return 0;
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file || fread(text, 1, sizeof text - 1, file) == 0) return 2;
    sqlite3 *database;
    char *error = NULL;
    if (sqlite3_open(":memory:", &database) || sqlite3_exec(database, text, row, NULL, &error)) {
        fprintf(stderr, "%s\n", error ? error : "cannot open a database");
        return 1;
    }
    printf("statements %lu rows %016lx\n", rows, sum);
    return sqlite3_close(database);
}
